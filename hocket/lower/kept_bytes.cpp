#include "hocket/lower/kept_bytes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan.h"

namespace hocket {
namespace {

/// Bytes of the states that a transfer fills where it arrives.
std::int64_t filled_bytes(const Graph& body, const ReplacedStates& replaced) {
  std::set<Value> states;
  auto add = [&](Value v) {
    for (Value state = replaced.first(v); state; state = replaced.another(state))
      if (!is_forwarded(body, state) && !body.type(state).pending) states.insert(state);
  };
  for (const Input& in : body.inputs()) {
    if (!in.state || !body.type(in.value).pending) continue;
    for (Use wait : body.uses(in.value)) {
      if (!body[wait.node].op->is_wait) continue;
      Value arrived = body.result(wait.node, wait.operand);
      add(arrived);
      for (Use use : body.uses(arrived))
        if (body[use.node].op == &ops::reshape) add(body.result(use.node));
    }
  }
  std::int64_t total = 0;
  for (Value v : states) total += rounded(body.type(v));
  return total;
}

}  // namespace

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
}

std::vector<Value> operands_apart(const Graph& g, const ReplacedStates& replaced, NodeId n) {
  const Collective& facts = *g[n].op->collective;
  std::vector<Value> apart;
  if (facts.elementwise || facts.kind == CollectiveKind::send) return apart;
  for (Value v : g[n].inputs) {
    bool state = false;
    for (;; v = g[g.node(v)].inputs[0]) {
      state = state || g.is_input(g.node(v)) || replaced.first(v);
      if (state || g[g.node(v)].op != &ops::reshape) break;
    }
    if (!state) apart.push_back(v);
  }
  return apart;
}

std::int64_t kept_bytes(const Graph& body) {
  ReplacedStates replaced(body);
  std::int64_t total = -filled_bytes(body, replaced);
  std::map<NodeId, int> starts;  // and slots
  std::set<std::string> constants;
  for (const Input& in : body.inputs()) {
    if (!in.state) continue;
    Value next = body.type(in.value).pending ? body.next(in.value) : Value{};
    if (next && !body.is_input(body.node(next))) {
      int& slots = starts[body.node(next)];
      slots = std::max(slots, in.slots);
    } else {
      total += rounded(body.type(in.value)) * (is_forwarded(body, in.value) ? in.slots : 1);
    }
  }
  for (auto [node, slots] : starts) {
    for (Value v : body.results(node)) total += rounded(body.type(v)) * slots;
    for (Value v : operands_apart(body, replaced, node)) total += rounded(body.type(v)) * slots;
  }
  for (NodeId n : body.nodes())
    if (const std::string* ref = constant_ref(body[n]);
        ref != nullptr && constants.insert(*ref).second)
      total += rounded(body.type(body.result(n)));
  return total;
}

}  // namespace hocket
