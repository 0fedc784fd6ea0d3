#include "hocket/ir/graph.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {

const Op input_op{.name = "input", .doc = "a value that enters the graph"};
const Op return_op{.name = "return", .doc = "the values that leave the graph"};

namespace {

constexpr std::string_view state_kind_names[] = {"parameter", "buffer", "optimizer", "rng",
                                                 "forwarded"};

void require_identifier(std::string_view name) {
  if (!is_identifier(name)) fail("graph {}: a name has letters, digits and '_' only", quoted(name));
}

}  // namespace

std::string_view name(StateKind kind) { return state_kind_names[static_cast<std::size_t>(kind)]; }

std::optional<StateKind> find_state_kind(std::string_view name) {
  for (std::size_t i = 0; i < std::size(state_kind_names); ++i)
    if (state_kind_names[i] == name) return static_cast<StateKind>(i);
  return std::nullopt;
}

std::span<const Value> Node::slot(std::size_t slot) const {
  std::span<const Value> all(inputs.data(), inputs.size());
  if (op->operands.size() == 1) return all;
  if (!op->writes_lists()) return all.subspan(slot, 1);
  auto sizes = attributes.list_sizes();
  std::size_t start = 0;
  for (std::size_t i = 0; i < slot; ++i) start += sizes[i];
  return all.subspan(start, sizes[slot]);
}

Graph::Graph(std::string name, std::shared_ptr<const World> world) {
  require_identifier(name);
  data_.name = std::move(name);
  data_.world = world ? std::move(world) : std::make_shared<const World>();
  data_.paths.add("");
  data_.nodes.push({});
  data_.values.push({});
  data_.links.push({});
  Node last;
  last.op = &return_op;
  data_.nodes.push(std::move(last));
  data_.links.push({.prev = 0, .next = 0, .label = last_label});
  data_.links.edit(0) = {.prev = 1, .next = 1, .label = 0};
}

Graph::Graph(const Graph& o) : data_(o.data_), edits_(o.edits_) {}

Graph::Graph(Graph&& o) noexcept
    : data_(std::move(o.data_)),
      undo_(std::move(o.undo_)),
      remarks_(std::move(o.remarks_)),
      edits_(o.edits_) {}

Graph& Graph::operator=(const Graph& o) {
  if (this != &o) assign(Data(o.data_));
  return *this;
}

Graph& Graph::operator=(Graph&& o) {  // NOLINT(performance-noexcept-move-constructor)
  if (this != &o) assign(std::move(o.data_));
  return *this;
}

Graph::~Graph() = default;

void Graph::set_name(std::string name) {
  require_identifier(name);
  save_interface();
  data_.name = std::move(name);
}

void Graph::assign(Data data) {
  ++edits_;
  if (undo_ && !undo_->replaced) undo_->replaced = std::make_unique<Data>(std::move(data_));
  data_ = std::move(data);
}

std::vector<Value> Graph::results(NodeId n) const {
  std::vector<Value> values;
  for (std::uint32_t i = 0; i < (*this)[n].result_count; ++i) values.push_back(result(n, i));
  return values;
}

void Graph::append_name(std::string& out, Value v) const {
  data_.names.append(out, data_.values[v.index].name);
}

std::string Graph::name(Value v) const {
  std::string out;
  append_name(out, v);
  return out;
}

std::string Graph::describe(NodeId n) const {
  const Node& node = (*this)[n];
  if (node.op == &input_op) return "input %" + name(result(n));
  if (node.result_count == 0) return std::string(node.op->name);
  return fmt::format("%{} = {}", name(result(n)), node.op->name);
}

std::string Graph::describe(NodeId n, std::string_view problem) const {
  std::string own = fmt::format("{}: ", (*this)[n].op->name);
  if (problem.starts_with(own)) problem.remove_prefix(own.size());
  return fmt::format("{}: {}", describe(n), problem);
}

/// `none` for a value that is not an input of this graph.
std::uint32_t Graph::place_of_input(Value v) const {
  if (v.index >= data_.values.size()) return none;
  const Node& from = (*this)[node(v)];
  return from.op == &input_op ? from.input_ : none;
}

const Input& Graph::input(Value v) const {
  std::uint32_t place = place_of_input(v);
  if (place == none) internal_fail("value {} is no input", v.index);
  return data_.inputs[place];
}

std::uint32_t Graph::next_operand(Value state) const {
  std::uint32_t place = place_of_input(state);
  return place == none ? none : data_.nexts[place];
}

Value Graph::next(Value state) const {
  std::uint32_t operand = next_operand(state);
  return operand == none ? Value{} : (*this)[return_node()].inputs[operand];
}

std::vector<Output> Graph::outputs() const {
  std::vector<Output> outputs;
  const Node& last = (*this)[return_node()];
  for (std::size_t i = 0; i < data_.returns.size(); ++i)
    if (!data_.returns[i].next_of) outputs.push_back({data_.returns[i].name, last.inputs[i]});
  return outputs;
}

NodeId Graph::first_node() const {
  if (data_.inputs.empty()) return following({0});
  return following(node(data_.inputs.back().value));
}

NodeId Graph::first_user(NodeId n) const {
  NodeId best;
  for (std::uint32_t i = 0; i < (*this)[n].result_count; ++i)
    for (Use use : uses(result(n, i)))
      if (!best || before(use.node, best)) best = use.node;
  return best;
}

NodeId Graph::last_user(NodeId n) const {
  NodeId best;
  for (std::uint32_t i = 0; i < (*this)[n].result_count; ++i)
    for (Use use : uses(result(n, i)))
      if (!best || before(best, use.node)) best = use.node;
  return best;
}

bool Graph::used(NodeId n) const {
  for (std::uint32_t i = 0; i < (*this)[n].result_count; ++i)
    if (!uses(result(n, i)).empty()) return true;
  return false;
}

void Graph::require(NodeId n, std::string_view what) const {
  if (!contains(n)) internal_fail("{}: node {} is not in graph '{}'", what, n.index, data_.name);
}

void Graph::require_value(Value v, std::string_view what) const {
  if (v.index == 0 || v.index >= data_.values.size() || !data_.values[v.index].node)
    internal_fail("{}: value {} is not in graph '{}'", what, v.index, data_.name);
}

std::vector<Type> Graph::infer(const NodeSpec& spec) const {
  if (spec.attributes.values().size() != spec.op->attributes.size())
    internal_fail("{}: attributes of another op", spec.op->name);
  if (spec.op->typed_by_result && spec.types.empty())
    internal_fail("{}: needs the type of its result", spec.op->name);
  SmallVector<const Type*, 8> inputs;
  for (Value v : spec.inputs) inputs.push_back(&type(v));
  return infer_types({.op = *spec.op,
                      .inputs = {inputs.data(), inputs.size()},
                      .attributes = spec.attributes,
                      .world = world(),
                      .written = spec.types,
                      .region = spec.region.get()});
}

void Graph::require_room(At at, const Op& op) const {
  if (at.graph != this) internal_fail("a place in another graph");
  require(at.before, "add");
  if (is_input(at.before)) fail("{}: cannot stand before an input", op.name);
}

/// Gives a new collective an unused channel unless it has one. (Channels match the collectives of
/// different graphs.)
void Graph::claim_channel(Node& node) {
  if (!node.op->is_collective && !node.op->has_effect) return;
  int i = node.op->attribute_index("channel");
  if (i < 0) return;
  auto index = static_cast<std::size_t>(i);
  auto channel = std::get<std::int64_t>(node.attributes.values()[index]);
  if (channel < -1 || channel > max_channel)
    fail("{}: channel {} is out of range", node.op->name, channel);
  if (channel < 0) node.attributes = node.attributes.with(index, channel = data_.next_channel);
  data_.next_channel = std::max(data_.next_channel, channel + 1);
}

/// The caller must add its results next, before any other value.
NodeId Graph::insert(Node node, NodeId before, std::span<const Value> operands) {
  claim_channel(node);  // may throw, so before any edit
  ++edits_;
  if (node.op != &input_op) ++data_.size;
  node.first_result = data_.values.size();
  NodeId n{data_.nodes.push(std::move(node))};
  data_.links.push({});
  link_before(n.index, before.index);
  for (Value v : operands) append_operand(n, v);
  return n;
}

void Graph::add_result(NodeId n, Type type, Name name) {
  data_.values.push({.type = std::move(type), .node = n, .name = name, .uses = {}});
}

NodeId Graph::add(At at, const NodeSpec& given) {
  NodeSpec spec = given;
  if (spec.attributes.values().empty() && !spec.op->attributes.empty())
    spec.attributes = Attributes(*spec.op, {})
                          .with_list_sizes({spec.attributes.list_sizes().begin(),
                                            spec.attributes.list_sizes().end()});
  require_room(at, *spec.op);
  for (Value v : spec.inputs) require_value(v, spec.op->name);
  std::vector<Type> types = infer(spec);

  Node node;
  node.op = spec.op;
  node.attributes = std::move(spec.attributes);
  node.region = std::move(spec.region);
  node.delay = spec.delay;
  node.stage = spec.stage.value_or((*this)[at.before].stage);
  node.result_count = static_cast<std::uint32_t>(types.size());
  node.path_ = intern_path(spec.path.empty() ? at.path : spec.path);
  NodeId n = insert(std::move(node), at.before, spec.inputs);
  for (std::size_t i = 0; i < types.size(); ++i) {
    bool named = i < spec.names.size() && !spec.names[i].empty();
    add_result(n, std::move(types[i]),
               data_.names.claim(named ? spec.names[i] : spec.op->name, data_.values.size()));
  }
  return n;
}

void Graph::drop_result(Value v) {
  data_.names.retire(data_.values[v.index].name);
  data_.values.edit(v.index) = ValueRecord{};
}

void Graph::erase(NodeId n) {
  require(n, "erase");
  if (n == return_node() || is_input(n))
    internal_fail("erase: {} is not a plain node", describe(n));
  if (used(n)) {
    std::string readers;
    for (Value v : results(n))
      for (Use use : uses(v))
        readers += fmt::format("{}{}", readers.empty() ? "" : ", ", describe(use.node));
    fail("{}: cannot be erased, it is read by {}", describe(n), readers);
  }
  ++edits_;
  for (std::uint32_t i = (*this)[n].inputs.size(); i-- > 0;) remove_use(n, i);
  unlink(n.index);
  for (Value v : results(n)) drop_result(v);
  edit(n) = Node{};
  --data_.size;
}

void Graph::add_use(Value v, Use use) {
  auto& uses = data_.values.edit(v.index).uses;
  uses.push_back(use);
  data_.nodes.edit(use.node.index).use_positions_[use.operand] = uses.size() - 1;
}

/// The last use takes the place of the removed one.
void Graph::remove_use(NodeId n, std::uint32_t operand) {
  const Node& node = (*this)[n];
  auto& uses = data_.values.edit(node.inputs[operand].index).uses;
  std::uint32_t at = node.use_positions_[operand];
  Use last = uses.back();
  uses[at] = last;
  uses.pop_back();
  edit(last.node).use_positions_[last.operand] = at;
}

void Graph::set_operand(NodeId n, std::uint32_t i, Value v) {
  require(n, "set_operand");
  require_value(v, "set_operand");
  if ((*this)[n].inputs[i] == v) return;
  ++edits_;
  remove_use(n, i);
  edit(n).inputs[i] = v;
  add_use(v, {n, i});
}

void Graph::replace_uses(Value old, Value with, const std::function<bool(Use)>& accept) {
  if (old == with) return;
  auto all = uses(old);
  for (Use use : std::vector<Use>(all.begin(), all.end()))
    if (!accept || accept(use)) set_operand(use.node, use.operand, with);
}

void Graph::set_attribute(NodeId n, std::string_view name, Attribute value) {
  require(n, "set_attribute");
  const Op& op = *(*this)[n].op;
  int i = op.attribute_index(name);
  if (i < 0 || !fits(value, op.attributes[static_cast<std::size_t>(i)].kind))
    wrong_attribute_kind(op, name);
  if (name == "channel")
    data_.next_channel = std::max(data_.next_channel, std::get<std::int64_t>(value) + 1);
  ++edits_;
  Node& node = edit(n);
  node.attributes = node.attributes.with(static_cast<std::size_t>(i), std::move(value));
}

std::uint32_t Graph::intern_path(std::string_view path) {
  if (path.empty()) return 0;
  // Most nodes have the same path as the node that was added before.
  if (data_.paths[data_.last_path] != path) data_.last_path = data_.paths.add(path);
  return data_.last_path;
}

void Graph::set_path(NodeId n, std::string_view path) {
  require(n, "set_path");
  ++edits_;
  edit(n).path_ = intern_path(path);
}

void Graph::set_stage(NodeId n, int stage) {
  require(n, "set_stage");
  ++edits_;
  edit(n).stage = stage;
}

void Graph::set_delay(NodeId n, int delay) {
  require(n, "set_delay");
  ++edits_;
  edit(n).delay = delay;
}

void Graph::set_region(NodeId n, Graph region) {
  require(n, "set_region");
  ++edits_;
  edit(n).region = std::make_shared<const Graph>(std::move(region));
}

void Graph::set_type(Value v, const Type& type) {
  require_value(v, "set_type");
  ++edits_;
  data_.values.edit(v.index).type = type;
  for (Use use : uses(v)) edit(use.node);  // touched() must contain the readers, too
}

void Graph::rename(Value v, std::string_view wanted) {
  require_value(v, "rename");
  if (find(wanted) == v) return;
  ++edits_;
  ValueRecord& record = data_.values.edit(v.index);
  data_.names.retire(record.name);
  record.name = data_.names.claim(wanted, v.index);
}

void Graph::swap_names(Value a, Value b) {
  require_value(a, "swap_names");
  require_value(b, "swap_names");
  ++edits_;
  std::swap(data_.values.edit(a.index).name, data_.values.edit(b.index).name);
  data_.names.reassign(data_.values[a.index].name, a.index);
  data_.names.reassign(data_.values[b.index].name, b.index);
}

}  // namespace hocket
