#include "hocket/passes/split_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/optimizer_lists.h"

namespace hocket {
namespace {

constexpr std::size_t gradient_slot = 1;

std::string called(const Graph& g, NodeId n) { return "%" + g.name(g.result(n)); }

std::vector<NodeId> optimizers(const Graph& g) {
  std::vector<NodeId> found;
  for (NodeId n : g.nodes())
    if (g[n].op->optimizes && parameter_count(g[n]) > 0) found.push_back(n);
  return found;
}

// ---- by bucket

/// For every value the collective that it comes from: of several the one started last, none where
/// more than arithmetic by element and moving lies between.
class Origins {
 public:
  explicit Origins(const Graph& g) : graph_(g), from_(g.value_bound()) {
    for (NodeId n : g.nodes()) {
      const Node& node = g[n];
      if (node.op->waits)
        give(node, g.node(node.inputs[0]));
      else if (node.op->ordered)
        give(node, from_[node.inputs[0].index]);
      else if (node.op->body != nullptr || node.op->moves_data)
        give(node, latest(node));
      else if (node.op == &ops::div_each)
        for (std::uint32_t i = 0; i < node.result_count; ++i)
          from_[node.first_result + i] = from_[node.inputs[i].index];
    }
  }
  NodeId operator[](Value v) const { return from_[v.index]; }

 private:
  void give(const Node& node, NodeId origin) {
    for (std::uint32_t i = 0; i < node.result_count; ++i) from_[node.first_result + i] = origin;
  }

  /// A number that applies to all elements scales a gradient and is not what it comes from.
  NodeId latest(const Node& node) const {
    NodeId last;
    for (Value v : node.inputs) {
      bool number = graph_.type(v).shape.empty() &&
                    !graph_.type({node.first_result}).shape.empty() && node.op->body != nullptr;
      NodeId from = number ? NodeId{} : from_[v.index];
      if (from && (!last || graph_.before(last, from))) last = from;
    }
    return last;
  }

  const Graph& graph_;
  std::vector<NodeId> from_;  // by value
};

void split_by_bucket(Graph& g) {
  const Origins origins(g);
  for (NodeId n : optimizers(g)) {
    auto gradients = g[n].slot(gradient_slot);
    std::vector<std::pair<NodeId, Positions>> parts;
    std::unordered_map<NodeId, std::size_t> part_of;
    for (std::uint32_t i = 0; i < gradients.size(); ++i) {
      NodeId from = origins[gradients[i]];
      auto [it, fresh] = part_of.emplace(from, parts.size());
      if (fresh) parts.push_back({from, {}});
      parts[it->second].second.push_back(i);
    }
    if (parts.size() == 1) {
      if (gradients.size() > 1)
        g.remark({.where = called(g, n),
                  .what = "not cut",
                  .why = parts[0].first ? "its gradients come from one collective"
                                        : "its gradients come from no collective"});
      continue;
    }
    std::ranges::sort(parts, [&](const auto& a, const auto& b) {
      return a.first && b.first ? g.before(a.first, b.first) : !a.first && b.first;
    });
    std::vector<Positions> positions;
    for (auto& part : parts) positions.push_back(std::move(part.second));
    cut_optimizer(g, n, positions,
                  parts[0].first
                      ? "one for each collective that its gradients come from"
                      : "one for each collective that its gradients come from, and one for those "
                        "from none");
  }
}

// ---- by parameter

void split_by_parameter(Graph& g) {
  for (NodeId n : optimizers(g)) {
    std::vector<Positions> parts;
    for (std::uint32_t i = 0; i < parameter_count(g[n]); ++i) parts.push_back({i});
    if (parts.size() > 1) cut_optimizer(g, n, parts, "one for each parameter");
  }
}

// ---- by a set of gradients

/// The values named in `%a+%b`. In a program of several graphs each knows some of them.
std::unordered_set<Value> named_gradients(Graph& g, std::string_view text) {
  std::unordered_set<Value> gradients;
  for (NodeId n : optimizers(g))
    for (Value v : g[n].slot(gradient_slot)) gradients.insert(v);
  auto refuse = [&](std::string_view name) {
    std::vector<std::string> names;
    for (NodeId n : optimizers(g))
      for (Value v : g[n].slot(gradient_slot)) names.push_back("%" + g.name(v));
    std::vector<std::string_view> known(names.begin(), names.end());
    fail("option 'gradients': no optimizer has the gradient '{}'{}", name,
         nearest_hint(name, known));
  };
  std::unordered_set<Value> named;
  for (std::string_view name : split(text, '+')) {
    name = trim(name);
    if (name.size() < 2 || name[0] != '%')
      fail("option 'gradients': found '{}', wanted names such as %a+%b", text);
    Value v = g.find(name.substr(1));
    if (v && gradients.contains(v))
      named.insert(v);
    else if (g.ranks().empty())
      refuse(name);
    else
      g.remark({.where = std::string(name),
                .what = "not looked for in " + g.name(),
                .why = "no optimizer of this graph has it as a gradient"});
  }
  return named;
}

void split_by_gradients(Graph& g, std::string_view text) {
  const std::unordered_set<Value> named = named_gradients(g, text);
  NodeId apart;  // has no other gradients
  bool found = false;
  for (NodeId n : optimizers(g)) {
    auto gradients = g[n].slot(gradient_slot);
    Positions rest, off;
    for (std::uint32_t i = 0; i < gradients.size(); ++i)
      (named.contains(gradients[i]) ? off : rest).push_back(i);
    if (off.empty()) continue;
    if (rest.empty()) {
      apart = n;
      g.remark({.where = called(g, n), .what = "not cut", .why = "all its gradients are named"});
      continue;
    }
    // The rest comes first: what was cut off is to be moved.
    cut_optimizer(g, n, {{rest, off}},
                  fmt::format("{} of {} gradients are named", off.size(), gradients.size()));
    found = true;
  }
  if (apart && !found && g.ranks().empty())
    fail("{}: all {} gradients are to be cut off, wanted some that stay", called(g, apart),
         parameter_count(g[apart]));
}

}  // namespace

void split_optimizer(Graph& g, const SplitOptimizer& options) {
  if (options.gradients != "none")
    split_by_gradients(g, options.gradients);
  else if (options.by == "parameter")
    split_by_parameter(g);
  else
    split_by_bucket(g);
}

}  // namespace hocket
