// The interface of a graph: world, inputs, outputs, next values.

#include <algorithm>
#include <unordered_set>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"

namespace hocket {

void Graph::save_interface() {
  ++edits_;
  if (!undo_ || undo_->replaced || undo_->interface) return;
  undo_->interface =
      Interface{data_.name, data_.world, data_.ranks, data_.inputs, data_.nexts, data_.returns};
}

void Graph::set_world(std::shared_ptr<const World> world) {
  save_interface();
  data_.world = std::move(world);
}

void Graph::set_ranks(std::vector<int> ranks) {
  save_interface();
  data_.ranks = std::move(ranks);
}

Value Graph::add_input(const Type& type, std::string_view name, InputInfo info) {
  if (!count_elements(type.shape)) fail("input %{}: {} is too large", name, to_text(type));
  save_interface();
  Node node;
  node.op = &input_op;
  node.result_count = 1;
  node.input_ = static_cast<std::uint32_t>(data_.inputs.size());
  NodeId n = insert(std::move(node), first_node(), {});
  Value v{data_.values.size()};
  add_result(n, type, data_.names.claim(name, v.index));
  Input input;
  static_cast<InputInfo&>(input) = std::move(info);
  input.value = v;
  data_.inputs.push_back(std::move(input));
  data_.nexts.push_back(none);
  return v;
}

void Graph::set_input_info(Value v, InputInfo info) {
  input(v);  // is one
  save_interface();
  static_cast<InputInfo&>(data_.inputs[place_of_input(v)]) = std::move(info);
}

void Graph::erase_input(Value v) {
  input(v);  // is one
  if (!uses(v).empty() || next(v)) fail("input %{}: cannot be erased, it is still read", name(v));
  save_interface();
  data_.inputs.erase(data_.inputs.begin() + place_of_input(v));
  reindex_inputs();
  erase_input_node(v);
}

void Graph::erase_inputs(std::span<const Value> inputs) {
  if (inputs.empty()) return;
  std::unordered_set<Value> gone(inputs.begin(), inputs.end());
  if (gone.size() != inputs.size()) internal_fail("erase_inputs: an input is given twice");
  for (Value v : inputs) {
    input(v);
    auto goes = [&](Use use) {
      return use.node == return_node() && gone.contains(data_.returns[use.operand].next_of);
    };
    if (!std::ranges::all_of(uses(v), goes))
      fail("input %{}: cannot be erased, it is still read", name(v));
  }
  save_interface();
  // The operands of the return are written again, without the next values of the erased inputs.
  NodeId last = return_node();
  std::vector<Value> values((*this)[last].inputs.begin(), (*this)[last].inputs.end());
  for (std::uint32_t i = (*this)[last].inputs.size(); i-- > 0;) remove_use(last, i);
  edit(last).inputs = {};
  edit(last).use_positions_ = {};
  std::vector<Return> kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (gone.contains(data_.returns[i].next_of)) continue;
    kept.push_back(std::move(data_.returns[i]));
    append_operand(last, values[i]);
  }
  data_.returns = std::move(kept);
  std::erase_if(data_.inputs, [&](const Input& in) { return gone.contains(in.value); });
  reindex_inputs();
  for (Value v : inputs) erase_input_node(v);
}

void Graph::erase_input_node(Value v) {
  NodeId n = node(v);
  unlink(n.index);
  drop_result(v);
  edit(n) = Node{};
}

void Graph::reindex_inputs() {
  for (std::uint32_t i = 0; i < data_.inputs.size(); ++i) {
    NodeId n = node(data_.inputs[i].value);
    if ((*this)[n].input_ != i) edit(n).input_ = i;
  }
  reindex_nexts();
}

void Graph::append_operand(NodeId n, Value v) {
  Node& node = edit(n);
  node.inputs.push_back(v);
  node.use_positions_.push_back(0);
  add_use(v, {n, node.inputs.size() - 1});
}

/// Operands after the erased one move forward, so the records of their uses must be updated.
void Graph::erase_operand(NodeId n, std::uint32_t i) {
  remove_use(n, i);
  Node& node = edit(n);
  node.inputs.erase(node.inputs.begin() + i);
  node.use_positions_.erase(node.use_positions_.begin() + i);
  for (; i < node.inputs.size(); ++i)
    data_.values.edit(node.inputs[i].index).uses[node.use_positions_[i]].operand = i;
}

void Graph::reindex_nexts() {
  data_.nexts.assign(data_.inputs.size(), none);
  for (std::uint32_t i = 0; i < data_.returns.size(); ++i)
    if (Value state = data_.returns[i].next_of) data_.nexts[place_of_input(state)] = i;
}

void Graph::add_output(std::string name, Value v) {
  require_value(v, "output");
  save_interface();
  data_.returns.push_back({std::move(name), {}});
  append_operand(return_node(), v);
}

void Graph::erase_output(std::size_t i) {
  std::size_t seen = 0;
  for (std::size_t k = 0; k < data_.returns.size(); ++k) {
    if (data_.returns[k].next_of || seen++ != i) continue;
    save_interface();
    data_.returns.erase(data_.returns.begin() + static_cast<std::ptrdiff_t>(k));
    erase_operand(return_node(), static_cast<std::uint32_t>(k));
    reindex_nexts();
    return;
  }
  internal_fail("there is no output {}", i);
}

void Graph::set_outputs(std::span<const Value> values) {
  std::size_t i = 0;
  for (std::uint32_t k = 0; k < data_.returns.size(); ++k)
    if (!data_.returns[k].next_of && i < values.size()) set_operand(return_node(), k, values[i++]);
  if (i != values.size()) internal_fail("values for {} outputs, there are {}", values.size(), i);
}

void Graph::set_next(Value state, Value next) {
  require_value(next, "next");
  if (!input(state).state) fail("next %{}: it is not a state", name(state));
  std::uint32_t operand = next_operand(state);
  if (operand != none) return set_operand(return_node(), operand, next);
  save_interface();
  data_.nexts[place_of_input(state)] = static_cast<std::uint32_t>(data_.returns.size());
  data_.returns.push_back({"", state});
  append_operand(return_node(), next);
}

void Graph::clear_next(Value state) {
  std::uint32_t i = next_operand(state);
  if (i == none) return;
  save_interface();
  data_.returns.erase(data_.returns.begin() + i);
  erase_operand(return_node(), i);
  reindex_nexts();
}

}  // namespace hocket
