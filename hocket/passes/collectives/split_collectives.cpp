#include "hocket/passes/collectives/split_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// An option that would give more parts than this is refused as a mistake.
constexpr std::size_t most_parts = 1 << 16;

/// Elements [from, to) of a member.
struct Slice {
  std::uint32_t member;
  std::int64_t from, to;
};
using Part = std::vector<Slice>;

/// Slices of a member begin at multiples of this many bytes, if parts are as large: there a plan
/// can leave them where they are.
constexpr std::int64_t slice_alignment = 64;

/// How many elements the slices have of a member that does not fit in one part. They are about
/// equal, so that no slice is much smaller than a part has to be.
std::int64_t slice_length(const Type& type, std::int64_t bytes) {
  std::int64_t size = hocket::bytes(type.dtype), count = type.elements();
  std::int64_t most = std::max<std::int64_t>(1, bytes / size), unit = slice_alignment / size;
  std::int64_t pieces = (count + most - 1) / most;
  if (most >= unit) most -= most % unit;
  std::int64_t even = (count + pieces - 1) / pieces;
  return std::min(most, (even + unit - 1) / unit * unit);
}

/// Groups the members whose results are read into parts of at most `bytes` bytes, in order. One
/// that does not fit in a part is cut, and each of its slices is a part by itself.
std::vector<Part> cut(const Graph& g, NodeId n, std::int64_t bytes) {
  std::vector<Part> parts;
  std::int64_t room = -1;  // in the last part; negative: that is closed
  for (std::uint32_t i = 0; i < g[n].inputs.size() && parts.size() <= most_parts; ++i) {
    if (g.uses(g.result(n, i)).empty()) continue;
    const Type& type = g.type(g[n].inputs[i]);
    std::int64_t count = type.elements();
    if (type.bytes() > bytes) {
      std::int64_t length = slice_length(type, bytes);
      for (std::int64_t from = 0; from < count && parts.size() <= most_parts; from += length)
        parts.push_back({{i, from, std::min(count, from + length)}});
      room = -1;
      continue;
    }
    if (room < type.bytes()) {
      parts.emplace_back();
      room = bytes;
    }
    parts.back().push_back({i, 0, count});
    room -= type.bytes();
  }
  return parts;
}

class Splitter {
 public:
  Splitter(Graph& g, NodeId n, std::vector<Part> parts)
      : g_(g), n_(n), parts_(std::move(parts)), slices_(g[n].inputs.size()) {}

  void run() {
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (std::uint32_t i = 0; i < parts_[p].size(); ++i)
        slices_[parts_[p][i].member].push_back({p, i});
    for (const Part& part : parts_) start(part);
    for (NodeId wait : readers_of(g_, n_)) replace(wait);
    g_.erase(n_);
  }

 private:
  Value add(NodeId before, NodeId like, const Op& op, std::vector<Value> inputs,
            std::initializer_list<Named> attributes) {
    return g_.result(g_.add(At(g_, before), {.op = &op,
                                             .inputs = inputs,
                                             .attributes = Attributes(op, attributes),
                                             .path = g_.path(like),
                                             .delay = g_[like].delay,
                                             .stage = g_[like].stage}));
  }

  Value operand(const Slice& s) {
    Value x = g_[n_].inputs[s.member];
    if (slices_[s.member].size() == 1) return x;
    if (g_.type(x).shape.size() != 1) {
      Value& flat = flat_[s.member];
      if (!flat) flat = add(n_, n_, ops::reshape, {x}, {{"shape", Ints{g_.type(x).elements()}}});
      x = flat;
    }
    return add(n_, n_, ops::slice, {x},
               {{"starts", Ints{s.from}}, {"stops", Ints{s.to}}, {"steps", Ints{1}}});
  }

  /// The first part keeps the channel, the others get their own.
  void start(const Part& part) {
    std::vector<Value> operands;
    std::vector<std::string> names;
    for (const Slice& s : part) {
      operands.push_back(operand(s));
      names.push_back(g_.name(g_.result(n_, s.member)));
    }
    std::vector<std::string_view> wanted(names.begin(), names.end());
    Attributes attributes = g_[n_].attributes;
    if (!started_.empty())
      attributes = attributes.with(static_cast<std::size_t>(g_[n_].op->attribute_index("channel")),
                                   std::int64_t{-1});
    started_.push_back(g_.add(At(g_, n_), {.op = g_[n_].op,
                                           .inputs = operands,
                                           .attributes = attributes,
                                           .names = wanted,
                                           .path = g_.path(n_),
                                           .delay = g_[n_].delay,
                                           .stage = g_[n_].stage}));
  }

  /// Replaces a wait by one wait for each part that holds elements of its members.
  void replace(NodeId wait) {
    std::map<std::uint32_t, std::vector<Value>> arrived;  // by member
    for (Value v : g_[wait].inputs) arrived[v.index - g_[n_].first_result];
    std::map<std::size_t, std::vector<std::uint32_t>> wanted;  // by part: slices, in their order
    for (const auto& [member, pieces] : arrived)
      for (auto [part, slice] : slices_[member]) wanted[part].push_back(slice);
    for (const auto& [part, slices] : wanted) {
      std::vector<Value> pending;
      for (std::uint32_t i : slices) pending.push_back(g_.result(started_[part], i));
      Value next = add(wait, wait, ops::wait, pending, {});
      for (std::uint32_t i : slices) arrived[parts_[part][i].member].push_back({next.index++});
    }
    for (std::uint32_t i = 0; i < g_[wait].inputs.size(); ++i) {
      Value old = g_.result(wait, i);
      Value joined = join(wait, arrived[g_[wait].inputs[i].index - g_[n_].first_result], old);
      g_.replace_uses(old, joined);
      if (g_.before(g_.node(joined), wait) && !g_.uses(joined).empty()) g_.swap_names(old, joined);
    }
    g_.erase(wait);
  }

  Value join(NodeId wait, const std::vector<Value>& pieces, Value old) {
    if (pieces.size() == 1) return pieces[0];
    Value flat = add(wait, wait, ops::concat, pieces, {{"dim", std::int64_t{0}}});
    const Shape& shape = g_.type(old).shape;
    if (shape.size() == 1) return flat;
    return add(wait, wait, ops::reshape, {flat}, {{"shape", Ints(shape.begin(), shape.end())}});
  }

  Graph& g_;
  NodeId n_;
  std::vector<Part> parts_;
  struct Place {
    std::size_t part;
    std::uint32_t slice;
  };
  std::vector<std::vector<Place>> slices_;  // by member
  std::map<std::uint32_t, Value> flat_;     // by member
  std::vector<NodeId> started_;             // by part
};

/// Why a collective stays whole; nothing when it can be cut.
std::string refusal(const Graph& g, NodeId n, OwnGroups& own, std::int64_t part) {
  const Node& node = g[n];
  std::int64_t bytes = operand_bytes(g, n);
  if (bytes <= part) return fmt::format("{} bytes fit in one part", bytes);
  if (!node.op->collective->elementwise)
    return fmt::format("the elements of {} have their places among ranks", node.op->name);
  if (!own.owns(node)) return "ranks that run another graph take part";
  for (Value v : g.results(n))
    for (Use use : g.uses(v))
      if (use.node == g.return_node()) return fmt::format("{} is carried in flight", shown(g, v));
  return "";
}

}  // namespace

void split_collectives(Graph& g, const SplitCollectives& options) {
  std::int64_t part = options.part.count;
  if (part < 1) fail("option 'part': found {}, wanted at least 1 byte", part);
  OwnGroups own(g);
  std::vector<NodeId> collectives;
  for (NodeId n : std::as_const(g).nodes())
    if (g[n].op->is_collective) collectives.push_back(n);
  for (NodeId n : collectives) {
    std::string where = shown(g, n), why = refusal(g, n, own, part);
    std::vector<Part> parts;
    if (why.empty()) {
      parts = cut(g, n, part);
      if (parts.size() > most_parts)
        why = fmt::format("it would be more than {} parts", most_parts);
      if (parts.size() <= 1) why = "what is waited for fits in one part";
    }
    if (!why.empty()) {
      g.remark({.where = std::move(where), .what = "left whole", .why = std::move(why)});
      continue;
    }
    std::size_t count = parts.size();
    Splitter(g, n, std::move(parts)).run();
    g.remark({.where = std::move(where),
              .what = fmt::format("cut into {} parts", count),
              .why = fmt::format("a part has at most {} bytes, or one element", part)});
  }
}

}  // namespace hocket
