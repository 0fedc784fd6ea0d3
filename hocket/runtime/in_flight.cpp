#include "hocket/runtime/in_flight.h"

#include <algorithm>
#include <array>
#include <deque>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

using comm::Kind;
using comm::Reduce;

Kind kind_of(const Op& op) {
  static const std::array<std::pair<const Op*, Kind>, 9> kinds{{
      {&ops::all_reduce, Kind::all_reduce},
      {&ops::reduce, Kind::reduce},
      {&ops::all_gather, Kind::all_gather},
      {&ops::reduce_scatter, Kind::reduce_scatter},
      {&ops::all_to_all, Kind::all_to_all},
      {&ops::broadcast_from, Kind::broadcast},
      {&ops::send, Kind::send},
      {&ops::recv, Kind::recv},
      {&ops::barrier, Kind::barrier},
  }};
  auto found = std::ranges::find(kinds, &op, &std::pair<const Op*, Kind>::first);
  if (found == kinds.end()) internal_fail("{}: no transfer", op.name);
  return found->second;
}

Reduce reduction_of(const Node& node) {
  const auto& text = node.attr<std::string>("reduce");
  for (Reduce r : {Reduce::sum, Reduce::avg, Reduce::min, Reduce::max, Reduce::product})
    if (comm::name(r) == text) return r;
  internal_fail("{}: no reduction '{}'", node.op->name, text);
}

/// The index in the group of the root or of the other end; 0 where there is none.
int peer_of(const Node& node, Kind kind) {
  std::string_view attribute = kind == Kind::send                                ? "to"
                               : kind == Kind::recv                              ? "from"
                               : kind == Kind::reduce || kind == Kind::broadcast ? "root"
                                                                                 : "";
  return attribute.empty() ? 0 : static_cast<int>(node.attr<std::int64_t>(attribute));
}

/// Whether results may lie where their operands lay.
bool in_place(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::broadcast;
}

std::int64_t row_elements(const Type& type) {
  std::int64_t n = 1;
  for (std::size_t i = 1; i < type.shape.size(); ++i) n *= type.shape[i];
  return n;
}

/// What an all_to_all sends to each of `ranks`, or gets from them. Equal shares are listed as well:
/// rows without elements cannot be counted by those.
Ints rows_for_each(const Node& node, std::string_view attribute, const Type& operand, int ranks) {
  const Ints& given = node.attr<Ints>(attribute);
  return given.empty() ? Ints(static_cast<std::size_t>(ranks), operand.shape[0] / ranks) : given;
}

/// Buffers of all members.
void make_buffers(InFlight& flight, Frame& frame, Kind kind) {
  const Graph& g = frame.graph();
  const Node& node = g[flight.node];
  std::vector<bool> last;
  for (Value v : node.inputs) last.push_back(frame.last_reader(v));
  flight.operands = frame.operands(flight.node);
  for (std::uint32_t i = 0; i < node.result_count; ++i) {
    Type type = g.type(g.result(flight.node, i)).ready();
    if (kind == Kind::send)
      flight.results.push_back(flight.operands[i]);
    else if (in_place(kind) && flight.operands[i].unique())
      flight.results.push_back(flight.operands[i]);
    else
      flight.held += flight.results.emplace_back(type).type().bytes();
  }
  for (std::size_t i = 0; i < flight.operands.size(); ++i)
    if (last[i]) flight.held += flight.operands[i].type().bytes();
  frame.hold(flight.held);
}

}  // namespace

bool InFlight::test() {
  if (!done) done = std::ranges::all_of(works, [](comm::Work& w) { return w.test(); });
  return done;
}

void InFlight::wait() {
  for (comm::Work& w : works) w.wait();
  done = true;
}

std::shared_ptr<InFlight> start_transfer(Frame& frame, NodeId n, comm::ProcessGroup& group) {
  const Graph& g = frame.graph();
  const Node& node = g[n];
  Kind kind = kind_of(*node.op);
  auto flight = std::make_shared<InFlight>();
  flight->node = n;
  flight->group = node.attr<std::string>("group");
  make_buffers(*flight, frame, kind);

  std::string name = node.result_count == 0 ? "" : "%" + g.name(g.result(n));
  comm::Call call{.kind = kind,
                  .peer = peer_of(node, kind),
                  .channel = node.attr<std::int64_t>("channel"),
                  .name = name};
  if (node.op->attribute_index("reduce") >= 0) call.reduce = reduction_of(node);
  if (kind == Kind::barrier) {
    flight->works.push_back(group.start(call));
    return flight;
  }
  std::vector<comm::Member> members;
  std::deque<Ints> rows;  // of members, until they have started
  // A call has one dtype. Equal on all ranks, so that they split alike.
  std::vector<bool> taken(node.result_count);
  for (std::size_t first = 0; first < taken.size(); ++first) {
    if (taken[first]) continue;
    call.dtype = flight->results[first].type().dtype;
    members.clear();
    for (std::size_t i = first; i < taken.size(); ++i) {
      if (flight->results[i].type().dtype != call.dtype) continue;
      taken[i] = true;
      comm::Member& m = members.emplace_back();
      Tensor& result = flight->results[i];
      m.count = result.type().elements();
      if (kind != Kind::recv) {
        m.send = std::as_const(flight->operands[i]).bytes().data();
        m.count = flight->operands[i].type().elements();
      }
      if (kind != Kind::send) m.recv = result.bytes().data();
      if (kind == Kind::all_to_all) {
        const Type& type = flight->operands[i].type();
        m.send_rows = rows.emplace_back(rows_for_each(node, "send", type, group.size()));
        m.recv_rows = rows.emplace_back(rows_for_each(node, "receive", type, group.size()));
        m.row = row_elements(result.type());
      }
    }
    call.members = members;
    call.goes_on = !flight->works.empty();
    flight->works.push_back(group.start(call));
  }
  return flight;
}

}  // namespace hocket
