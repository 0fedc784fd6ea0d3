// Transactions on a graph: what was edited, rollback, and the consistency check.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"

namespace hocket {

void Graph::begin() {
  if (undo_) internal_fail("graph '{}': a transaction is open", data_.name);
  undo_ = std::make_unique<Undo>();
  undo_->size = data_.size;
  undo_->next_channel = data_.next_channel;
  data_.nodes.begin();
  data_.values.begin();
  data_.links.begin();
  data_.names.begin();
}

void Graph::commit() {
  undo_.reset();
  data_.nodes.commit();
  data_.values.commit();
  data_.links.commit();
  data_.names.commit();
}

void Graph::rollback() {
  if (!undo_) internal_fail("graph '{}': no transaction is open", data_.name);
  auto undo = std::exchange(undo_, nullptr);
  ++edits_;
  if (undo->replaced) data_ = std::move(*undo->replaced);
  data_.nodes.rollback();
  data_.values.rollback();
  data_.links.rollback();
  data_.names.rollback();
  data_.size = undo->size;
  data_.next_channel = undo->next_channel;
  if (undo->interface) {
    Interface& old = *undo->interface;
    data_.name = std::move(old.name);
    data_.world = std::move(old.world);
    data_.ranks = std::move(old.ranks);
    data_.inputs = std::move(old.inputs);
    data_.nexts = std::move(old.nexts);
    data_.returns = std::move(old.returns);
  }
}

std::vector<NodeId> Graph::touched() const {
  std::vector<NodeId> list;
  if (!undo_) return list;
  std::vector<bool> seen(data_.nodes.size());
  auto add = [&](NodeId n) {
    if (!contains(n) || seen[n.index]) return;
    seen[n.index] = true;
    list.push_back(n);
  };
  if (undo_->replaced) {
    for (std::uint32_t i = 1; i < data_.nodes.size(); ++i) add({i});
  } else {
    data_.nodes.for_each_touched([&](std::uint32_t i) { add({i}); });
    data_.links.for_each_touched([&](std::uint32_t i) { add({i}); });
    data_.values.for_each_touched([&](std::uint32_t i) { add(data_.values[i].node); });
    if (undo_->interface) {
      for (const Input& in : data_.inputs) add(node(in.value));
      add(return_node());
    }
  }
  // A few nodes are sorted; for many it is faster to walk the whole list.
  if (list.size() < data_.size / 16) {
    std::ranges::sort(list, [&](NodeId a, NodeId b) { return before(a, b); });
    return list;
  }
  list.clear();
  for (NodeId n = following({0}); n; n = following(n))
    if (seen[n.index]) list.push_back(n);
  return list;
}

void Graph::check_consistency() const {
  auto expect = [&](bool ok, std::string_view what, std::uint32_t i) {
    if (!ok) internal_fail("graph '{}': {} (record {})", data_.name, what, i);
  };
  std::size_t count = 0;
  std::uint32_t seen_uses = 0;
  for (std::uint32_t at = data_.links[0].next, prev = 0; at != 0;
       prev = at, at = data_.links[at].next) {
    expect(data_.links[at].prev == prev, "broken list", at);
    expect(prev == 0 || data_.links[prev].label < data_.links[at].label, "labels do not ascend",
           at);
    const Node& node = data_.nodes[at];
    expect(node.op != nullptr, "an erased node is listed", at);
    expect(node.inputs.size() == node.use_positions_.size(), "operands without uses", at);
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i, ++seen_uses) {
      auto all = uses(node.inputs[i]);
      expect(node.use_positions_[i] < all.size() && all[node.use_positions_[i]] == Use{{at}, i},
             "a lost use", at);
    }
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      Value v = result({at}, i);
      expect(this->node(v).index == at, "a result of another node", v.index);
      expect(find(name(v)) == v, "a lost name", v.index);
    }
    if (node.op != &input_op && node.op != &return_op) ++count;
  }
  for (std::uint32_t v = 1; v < data_.values.size(); ++v) seen_uses -= data_.values[v].uses.size();
  expect(seen_uses == 0, "uses without operands", seen_uses);
  expect(count == data_.size, "wrong size", static_cast<std::uint32_t>(count));
  expect(data_.returns.size() == (*this)[return_node()].inputs.size(), "returns without values", 1);
  expect(data_.inputs.size() == data_.nexts.size(), "an input without a place for its next", 0);
  for (std::uint32_t i = 0; i < data_.inputs.size(); ++i) {
    Value v = data_.inputs[i].value;
    expect(place_of_input(v) == i, "a lost input", v.index);
    std::uint32_t next = data_.nexts[i];
    expect(next == none || (next < data_.returns.size() && data_.returns[next].next_of == v),
           "a next of another", v.index);
  }
  for (std::uint32_t i = 0; i < data_.returns.size(); ++i)
    if (Value state = data_.returns[i].next_of)
      expect(next_operand(state) == i, "a lost next", state.index);
}

}  // namespace hocket
