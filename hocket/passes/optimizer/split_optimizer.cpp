#include "hocket/passes/optimizer/split_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/framework/node_names.h"
#include "hocket/passes/optimizer/optimizer_lists.h"

namespace hocket {
namespace {

constexpr std::size_t gradient_slot = 1;

std::vector<NodeId> optimizers(const Graph& g) {
  std::vector<NodeId> found;
  for (NodeId n : g.nodes())
    if (g[n].op->is_optimizer && parameter_count(g[n]) > 0) found.push_back(n);
  return found;
}

/// The parts of an optimizer and the reason. Without parts it stays whole.
struct Split {
  NodeId optimizer;
  std::vector<Positions> parts = {};
  std::string why = {};
};

/// All cuts are decided before the first is made: an optimizer may read results of another one,
/// which a cut replaces.
void carry_out(Graph& g, const std::vector<Split>& splits) {
  for (const Split& s : splits)
    if (s.parts.empty())
      g.remark({.where = shown(g, s.optimizer), .what = "not cut", .why = s.why});
    else
      cut_optimizer(g, s.optimizer, s.parts, s.why);
}

// ---- by bucket

/// For each value, the collective from whose results it is computed by elementwise ops and data
/// movement alone; of several, the one that starts last. None for other values.
class BucketOrigins {
 public:
  explicit BucketOrigins(const Graph& g) : graph_(g), from_(g.value_bound()) {
    for (NodeId n : g.nodes()) {
      const Node& node = g[n];
      if (node.op->is_wait)
        give(node, g.node(node.inputs[0]));
      else if (node.op->is_ordering)
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

  /// The origin of an elementwise node's result. Scalar operands are ignored: they scale a
  /// gradient.
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

/// The gradients of an optimizer, grouped by collective in list order. Those without a collective
/// come first.
std::vector<std::pair<NodeId, Positions>> by_origin(const Graph& g, NodeId n,
                                                    const BucketOrigins& origins) {
  auto gradients = g[n].slot(gradient_slot);
  std::vector<std::pair<NodeId, Positions>> parts;
  std::unordered_map<NodeId, std::size_t> part_of;
  for (std::uint32_t i = 0; i < gradients.size(); ++i) {
    NodeId from = origins[gradients[i]];
    auto [it, fresh] = part_of.emplace(from, parts.size());
    if (fresh) parts.push_back({from, {}});
    parts[it->second].second.push_back(i);
  }
  std::ranges::sort(parts, [&](const auto& a, const auto& b) {
    return a.first && b.first ? g.before(a.first, b.first) : !a.first && b.first;
  });
  return parts;
}

std::vector<Split> split_by_bucket(const Graph& g) {
  const BucketOrigins origins(g);
  std::vector<Split> splits;
  for (NodeId n : optimizers(g)) {
    auto parts = by_origin(g, n, origins);
    if (parts.size() > 1) {
      Split& split = splits.emplace_back(Split{n});
      for (auto& part : parts) split.parts.push_back(std::move(part.second));
      split.why = "one for each collective that reduces its gradients";
      if (!parts[0].first) split.why += ", and one for gradients that none reduces";
    } else if (parameter_count(g[n]) > 1) {
      splits.push_back({.optimizer = n,
                        .why = parts[0].first ? "one collective reduces all its gradients"
                                              : "no collective reduces its gradients"});
    }
  }
  return splits;
}

// ---- by parameter

std::vector<Split> split_by_parameter(const Graph& g) {
  std::vector<Split> splits;
  for (NodeId n : optimizers(g)) {
    if (parameter_count(g[n]) == 1) continue;
    Split& split = splits.emplace_back(Split{n, {}, "one for each parameter"});
    for (std::uint32_t i = 0; i < parameter_count(g[n]); ++i) split.parts.push_back({i});
  }
  return splits;
}

// ---- by a set of gradients

std::vector<Value> gradients_of(const Graph& g) {
  std::vector<Value> all;
  for (NodeId n : optimizers(g))
    for (Value v : g[n].slot(gradient_slot)) all.push_back(v);
  return all;
}

[[noreturn]] void refuse_name(const Program& program, std::string_view name) {
  std::vector<std::string> names;
  for (const Graph& g : program.graphs)
    for (Value v : gradients_of(g)) names.push_back("%" + g.name(v));
  std::vector<std::string_view> known(names.begin(), names.end());
  fail("option 'gradients': no optimizer has the gradient '{}'{}", name, nearest_hint(name, known));
}

/// For each graph the gradients named in `%a+%b`. Error for a name that is a gradient in no graph.
std::vector<std::unordered_set<Value>> named_gradients(Program& program, std::string_view text) {
  std::vector<std::unordered_set<Value>> gradients, named(program.graphs.size());
  for (const Graph& g : program.graphs) {
    std::vector<Value> all = gradients_of(g);
    gradients.emplace_back(all.begin(), all.end());
  }
  for (std::string_view name : split(text, '+')) {
    name = trim(name);
    if (name.size() < 2 || name[0] != '%')
      fail("option 'gradients': found '{}', wanted names such as %a+%b", text);
    std::vector<Graph*> without;
    for (std::size_t i = 0; i < program.graphs.size(); ++i) {
      Value v = program.graphs[i].find(name.substr(1));
      if (v && gradients[i].contains(v))
        named[i].insert(v);
      else
        without.push_back(&program.graphs[i]);
    }
    if (without.size() == program.graphs.size()) refuse_name(program, name);
    for (Graph* g : without)
      g->remark({.where = std::string(name),
                 .what = "not looked for in " + g->name(),
                 .why = "no optimizer of this graph has it as a gradient"});
  }
  return named;
}

/// The decisions for one graph. `some`: at least one optimizer is cut. `apart`: an optimizer all of
/// whose gradients are named, so that no rest would remain.
struct CutOff {
  std::vector<Split> splits = {};
  bool some = false;
  NodeId apart = {};
};

CutOff split_by_gradients(const Graph& g, const std::unordered_set<Value>& named) {
  CutOff cut;
  for (NodeId n : optimizers(g)) {
    auto gradients = g[n].slot(gradient_slot);
    Positions rest, off;
    for (std::uint32_t i = 0; i < gradients.size(); ++i)
      (named.contains(gradients[i]) ? off : rest).push_back(i);
    if (off.empty()) continue;
    if (rest.empty()) {
      cut.apart = n;
      cut.splits.push_back({.optimizer = n, .why = "all its gradients are named"});
      continue;
    }
    // The rest comes first, because the part that is cut off will be moved.
    std::string why = fmt::format("{} of {} gradients are named", off.size(), gradients.size());
    cut.splits.push_back({n, {std::move(rest), std::move(off)}, std::move(why)});
    cut.some = true;
  }
  return cut;
}

void split_by_gradients(Program& program, std::string_view text) {
  const auto named = named_gradients(program, text);
  std::vector<CutOff> cuts;
  for (std::size_t i = 0; i < named.size(); ++i)
    cuts.push_back(split_by_gradients(program.graphs[i], named[i]));
  bool some = std::ranges::any_of(cuts, &CutOff::some);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    Graph& g = program.graphs[i];
    if (!some && cuts[i].apart)
      fail("{}: all {} gradients are to be cut off, wanted some that stay", shown(g, cuts[i].apart),
           parameter_count(g[cuts[i].apart]));
    carry_out(g, cuts[i].splits);
  }
}

}  // namespace

void split_optimizer(Program& program, const SplitOptimizer& options) {
  if (options.gradients != "none") return split_by_gradients(program, options.gradients);
  for (Graph& g : program.graphs)
    carry_out(g, options.by == "parameter" ? split_by_parameter(g) : split_by_bucket(g));
}

}  // namespace hocket
