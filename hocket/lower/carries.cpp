#include "hocket/lower/carries.h"

#include <algorithm>

#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan.h"

namespace hocket {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
}

namespace {

/// The collective that starts what an input in flight carries; none for a value that another input
/// hands on: that has arrived when it is handed on.
NodeId starter(const Graph& body, const Input& in) {
  Value next = body.type(in.value).pending ? body.next(in.value) : Value{};
  return next && !body.is_input(body.node(next)) ? body.node(next) : NodeId{};
}

/// See CarriedCollective::ends_after.
int ends_after(const Graph& body, NodeId collective) {
  for (Value v : body.results(collective))
    for (Use use : body.uses(v))
      if (use.node != body.return_node()) return 0;
  int first = 0;
  for (const Input& in : body.inputs())
    if (in.state && starter(body, in) == collective && !body.uses(in.value).empty())
      first = first == 0 ? in.slots : std::min(first, in.slots);
  return first;
}

}  // namespace

Carries::Carries(const Graph& body, const CarryDoubts& doubts)
    : replaced_(body), states_(body.inputs().size()), in_flight_(body.inputs().size()) {
  find_collectives(body, doubts);
  for (CarriedCollective& c : collectives_) lay_out_results(body, c);
  lay_out_states(body, doubts);
  for (CarriedCollective& c : collectives_) lay_out_operands(body, doubts, c);
}

RegionPart Carries::add(std::int64_t bytes) {
  regions_.push_back({bytes});
  return {static_cast<std::uint32_t>(regions_.size() - 1), 0};
}

void Carries::find_collectives(const Graph& body, const CarryDoubts& doubts) {
  std::map<NodeId, std::size_t> known;
  for (const Input& in : body.inputs()) {
    NodeId n = in.state ? starter(body, in) : NodeId{};
    if (!n) continue;
    auto [found, fresh] = known.emplace(n, collectives_.size());
    if (fresh) collectives_.push_back({.node = n});
    CarriedCollective& c = collectives_[found->second];
    c.slots = std::max(c.slots, in.slots);
  }
  for (CarriedCollective& c : collectives_) {
    const Collective& facts = *body[c.node].op->collective;
    c.members = std::max(body[c.node].result_count, body[c.node].inputs.size());
    c.in_place = facts.kind == CollectiveKind::send ||
                 (facts.elementwise && !doubts.operands_apart.contains(c.node));
    for (std::size_t m = 0; m < c.members; ++m)
      c.copied_out.push_back(doubts.copied_out.contains({c.node, m}) ? 1 : 0);
    c.ends_after = ends_after(body, c.node);
    c.first_transfer = transfers_;
    transfers_ += static_cast<std::uint32_t>(c.slots);
  }
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    const Input& in = body.inputs()[i];
    NodeId n = in.state ? starter(body, in) : NodeId{};
    if (!n) continue;
    std::uint32_t member = body.next(in.value).index - body[n].first_result;
    in_flight_[i] = {&collectives_[known.at(n)], member, in.slots};
  }
}

/// Members of an elementwise collective lie side by side.
void Carries::lay_out_results(const Graph& body, CarriedCollective& c) {
  bool together = body[c.node].op->collective->elementwise;
  std::vector<Value> values = body.results(c.node);
  std::int64_t total = 0;
  for (Value v : values) total += aligned(body.type(v).bytes());
  for (int slot = 0; slot < c.slots; ++slot) {
    RegionPart bucket = together ? add(total) : RegionPart{};
    for (Value v : values) {
      c.results.push_back(together ? bucket : add(body.type(v).bytes()));
      bucket.offset += aligned(body.type(v).bytes());
    }
  }
}

/// The state with a start that gets this value.
std::optional<std::size_t> Carries::state_replaced_by(const Graph& body, Value v) const {
  Value state = replaced_.first(v);
  while (state && is_forwarded(body, state)) state = replaced_.another(state);
  if (!state) return std::nullopt;
  auto inputs = body.inputs();
  return static_cast<std::size_t>(std::ranges::find(inputs, state, &Input::value) - inputs.begin());
}

/// The state that gets what a transfer brings, as it is or in another shape.
std::optional<std::size_t> Carries::state_of_result(const Graph& body, Value in_flight) const {
  for (Use wait : body.uses(in_flight)) {
    if (!body[wait.node].op->is_wait) continue;
    Value arrived = body.result(wait.node, wait.operand);
    if (auto state = state_replaced_by(body, arrived)) return state;
    for (Use use : body.uses(arrived))
      if (body[use.node].op == &ops::reshape)
        if (auto state = state_replaced_by(body, body.result(use.node))) return state;
  }
  return std::nullopt;
}

void Carries::lay_out_states(const Graph& body, const CarryDoubts& doubts) {
  auto inputs = body.inputs();
  for (CarriedCollective& c : collectives_) c.result_is_state.resize(c.members);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (in_flight_[i].collective == nullptr) continue;
    CarriedCollective& c = *in_flight_[i].collective;
    std::size_t member = in_flight_[i].member;
    if (c.slots > 1 || doubts.result_not_state.contains({c.node, member})) continue;
    auto state = state_of_result(body, inputs[i].value);
    if (!state || !states_[*state].empty()) continue;
    c.result_is_state[member] = state;
    states_[*state] = {c.result(0, member)};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& in = inputs[i];
    if (!in.state || in_flight_[i].collective != nullptr || !states_[i].empty()) continue;
    int slots = is_forwarded(body, in.value) ? in.slots : 1;
    for (int s = 0; s < slots; ++s) states_[i].push_back(add(body.type(in.value).bytes()));
  }
}

/// The state whose next value an operand is, or a reshape of it.
std::optional<std::size_t> Carries::state_of_operand(const Graph& body, Value operand,
                                                     NodeId reader) const {
  while (body[body.node(operand)].op == &ops::reshape) operand = body[body.node(operand)].inputs[0];
  NodeId maker = body.node(operand);
  if (body.is_input(maker) || body[maker].delay != body[reader].delay) return std::nullopt;
  return state_replaced_by(body, operand);
}

/// Operands that results do not overwrite.
void Carries::lay_out_operands(const Graph& body, const CarryDoubts& doubts, CarriedCollective& c) {
  const Node& node = body[c.node];
  c.operand_is_state.resize(c.members);
  if (c.in_place || node.inputs.empty()) return;
  bool together = node.op->collective->elementwise;
  std::int64_t total = 0;
  for (Value v : node.inputs) total += aligned(body.type(v).bytes());
  for (int slot = 0; slot < c.slots; ++slot) {
    RegionPart bucket = together ? add(total) : RegionPart{};
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
      std::int64_t bytes = body.type(node.inputs[i]).bytes();
      std::optional<std::size_t> state;
      if (!together && c.slots == 1 && !doubts.operand_not_state.contains({c.node, i}))
        state = state_of_operand(body, node.inputs[i], c.node);
      c.operand_is_state[i] = state ? 1 : 0;
      c.operands.push_back(state ? states_[*state][0] : together ? bucket : add(bytes));
      bucket.offset += aligned(bytes);
    }
  }
}

const RegionPart* Carries::state(std::size_t input, int slot) const {
  auto s = static_cast<std::size_t>(slot);
  return s < states_[input].size() ? &states_[input][s] : nullptr;
}

const Carries::InFlightInput* Carries::in_flight(std::size_t input) const {
  return in_flight_[input].collective != nullptr ? &in_flight_[input] : nullptr;
}

RegionPart Carries::constant(const std::string& name, const Type& type) {
  auto found = constants_.find(name);
  if (found == constants_.end())
    found = constants_.emplace(name, Constant{add(type.bytes()), type}).first;
  return found->second.part;
}

}  // namespace hocket
