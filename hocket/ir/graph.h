#pragma once
// The graph: nodes in execution order, edited only through this class.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/remark.h"
#include "hocket/base/small_vector.h"
#include "hocket/base/texts.h"
#include "hocket/ir/ids.h"
#include "hocket/ir/names.h"
#include "hocket/ir/node.h"
#include "hocket/ir/op.h"
#include "hocket/ir/store.h"
#include "hocket/ir/type.h"
#include "hocket/ir/world.h"

namespace hocket {

template <bool reverse>
class ConstNodeRange;
template <bool reverse>
class NodeRange;

/// Has value semantics: copying it copies everything, and handles into it stay valid in the copy.
/// Costs are O(1) amortised unless a comment says otherwise.
class Graph {
 public:
  /// Without a world: one rank.
  explicit Graph(std::string name = "step", std::shared_ptr<const World> world = nullptr);
  Graph(const Graph& o);
  Graph(Graph&& o) noexcept;
  /// Assignment is an edit: an open transaction stays open and can roll it back.
  Graph& operator=(const Graph& o);
  Graph& operator=(  // NOLINT(performance-noexcept-move-constructor): may keep the old one
      Graph&& o);
  ~Graph();

  // ---- reading
  const std::string& name() const { return data_.name; }
  const World& world() const { return *data_.world; }
  const std::shared_ptr<const World>& shared_world() const { return data_.world; }
  /// The ranks that run this graph; empty means all of the world.
  const std::vector<int>& ranks() const { return data_.ranks; }
  /// Nodes between the inputs and the return.
  std::size_t size() const { return data_.size; }

  const Node& operator[](NodeId n) const { return data_.nodes[n.index]; }
  bool contains(NodeId n) const {
    return n.index > 0 && n.index < data_.nodes.size() && data_.nodes[n.index].op != nullptr;
  }
  /// One more than the largest index of any node (value) ever made: the size of a side table.
  std::uint32_t node_bound() const { return data_.nodes.size(); }
  std::uint32_t value_bound() const { return data_.values.size(); }

  Value result(NodeId n, std::uint32_t i = 0) const { return {(*this)[n].first_result + i}; }
  std::vector<Value> results(NodeId n) const;
  NodeId node(Value v) const { return data_.values[v.index].node; }
  const Type& type(Value v) const { return data_.values[v.index].type; }
  std::span<const Use> uses(Value v) const {
    const auto& uses = data_.values[v.index].uses;
    return {uses.data(), uses.size()};
  }
  std::string name(Value v) const;
  void append_name(std::string& out, Value v) const;
  Value find(std::string_view name) const { return {data_.names.find(name)}; }
  std::string_view path(NodeId n) const { return data_.paths[(*this)[n].path_]; }
  /// `%y = matmul`, for messages.
  std::string describe(NodeId n) const;
  /// `%y = gather: index 9 ...`, for a problem reported by an op, whether or not its text begins
  /// with the name of the op.
  std::string describe(NodeId n, std::string_view problem) const;

  bool is_input(NodeId n) const { return (*this)[n].op == &input_op; }
  NodeId return_node() const { return {1}; }
  std::span<const Input> inputs() const { return data_.inputs; }
  const Input& input(Value v) const;
  /// The value of a state in the next iteration; none if the state keeps its value.
  Value next(Value state) const;
  std::vector<Output> outputs() const;

  /// True if a comes before b in execution order.
  bool before(NodeId a, NodeId b) const {
    return data_.links[a.index].label < data_.links[b.index].label;
  }
  NodeId following(NodeId n) const { return {data_.links[n.index].next}; }
  NodeId preceding(NodeId n) const { return {data_.links[n.index].prev}; }
  NodeId first_node() const;
  /// The first (last) reader of any result in execution order, none without readers. O(uses).
  NodeId first_user(NodeId n) const;
  NodeId last_user(NodeId n) const;
  bool used(NodeId n) const;

  /// All nodes but inputs and return, in execution order. A loop over a non-const graph may erase,
  /// move and insert nodes; it continues after the original place of the current node.
  ConstNodeRange<false> nodes() const;
  NodeRange<false> nodes();

  // ---- editing
  void set_name(std::string name);
  void set_world(std::shared_ptr<const World> world);
  void set_ranks(std::vector<int> ranks);
  Value add_input(const Type& type, std::string_view name, InputInfo info = {});
  void set_input_info(Value input, InputInfo info);
  /// Error for an input that is read or has a next value. O(inputs).
  void erase_input(Value input);
  /// Erases inputs and their next values. Only these inputs may have them as next values; no node
  /// may read them. O(inputs and outputs) for all.
  void erase_inputs(std::span<const Value> inputs);
  void add_output(std::string name, Value v);
  /// Replaces the values of all outputs. O(inputs and outputs).
  void set_outputs(std::span<const Value> values);
  /// O(inputs and outputs).
  void erase_output(std::size_t i);
  void set_next(Value state, Value next);
  /// O(inputs and outputs).
  void clear_next(Value state);

  /// Checks operands and attributes, infers the result types, and adds the node at its place.
  /// Throws Error when the op refuses.
  NodeId add(At at, const NodeSpec& spec);
  /// The result types that `add` would give the node. Throws Error when the op refuses operands,
  /// attributes or the types expected.
  std::vector<Type> infer(const NodeSpec& spec) const;
  /// Error for a node that still has readers, with their names.
  void erase(NodeId n);
  void move_before(NodeId n, NodeId place);
  void move_after(NodeId n, NodeId place);

  void set_operand(NodeId n, std::uint32_t i, Value v);
  /// Makes the readers of `old` for which `accept` holds (all readers by default) read `with`
  /// instead. O(uses).
  void replace_uses(Value old, Value with, const std::function<bool(Use)>& accept = nullptr);
  void set_attribute(NodeId n, std::string_view name, Attribute value);
  void set_path(NodeId n, std::string_view path);
  void set_delay(NodeId n, int delay);
  void set_stage(NodeId n, int stage);
  void set_region(NodeId n, Graph region);
  void set_type(Value v, const Type& type);
  void rename(Value v, std::string_view wanted);
  /// Swaps two names, for a value that replaces another under its name.
  void swap_names(Value a, Value b);
  /// A channel that no node has used yet.
  std::int64_t fresh_channel() const { return data_.next_channel; }

  // ---- history
  /// Increases with every edit; tells whether a pass has changed anything.
  std::uint64_t edits() const { return edits_; }
  /// Opens a transaction; there is one at a time.
  void begin();
  void commit();
  /// Undoes all edits since begin(). Handles created since then become invalid. O(edits).
  void rollback();
  bool in_transaction() const { return undo_ != nullptr; }
  /// Nodes that were edited, moved or added since begin(), or whose uses changed, without the
  /// erased ones, in execution order. All nodes when the whole graph was assigned.
  std::vector<NodeId> touched() const;

  /// Adds a remark of a pass. Remarks are not part of the value of the graph; the pass runner
  /// collects them.
  void remark(Remark r) { remarks_.push_back(std::move(r)); }
  std::vector<Remark> take_remarks() { return std::exchange(remarks_, {}); }

  /// InternalError when lists, uses, names or order are not consistent. O(graph); for tests.
  void check_consistency() const;

  /// Equal texts, except for channels.
  friend bool operator==(const Graph& a, const Graph& b);

 private:
  template <bool reverse>
  friend class NodeRange;
  friend class Copier;

  // The label of the return node, above all others.
  static constexpr std::uint64_t last_label = std::uint64_t{1} << 63;
  static constexpr std::uint32_t none = 0xffffffff;
  struct Link {
    std::uint32_t prev = 0, next = 0;
    std::uint64_t label = 0;  // ascends along the list
  };
  struct ValueRecord {
    Type type;
    NodeId node;
    Name name;
    SmallVector<Use, 2> uses;
  };
  struct Return {
    std::string name;
    Value next_of;  // the state whose next value this operand is; none for an output
  };
  struct Data {
    std::string name;
    std::shared_ptr<const World> world;
    std::vector<int> ranks;
    Store<Node> nodes;
    Store<ValueRecord> values;
    Store<Link> links;
    NameTable names;
    std::vector<Input> inputs;
    std::vector<std::uint32_t> nexts;  // beside the inputs: operand of the return node, or none
    std::vector<Return> returns;       // beside the operands of the return node
    Texts paths;
    std::uint32_t last_path = 0;
    std::size_t size = 0;
    std::int64_t next_channel = 0;
  };
  struct Interface {  // the part of Data that is saved as a whole, once per transaction
    std::string name;
    std::shared_ptr<const World> world;
    std::vector<int> ranks;
    std::vector<Input> inputs;
    std::vector<std::uint32_t> nexts;
    std::vector<Return> returns;
  };
  struct Undo {
    std::optional<Interface> interface;
    std::size_t size = 0;
    std::int64_t next_channel = 0;
    std::unique_ptr<Data> replaced;  // everything, when the graph was assigned
  };
  struct Cursor {
    NodeId current;
    NodeId resume;
    bool detached = false;
    bool reverse = false;
  };

  Node& edit(NodeId n) { return data_.nodes.edit(n.index); }
  void save_interface();
  void require_room(At at, const Op& op) const;
  NodeId insert(Node node, NodeId before, std::span<const Value> operands);
  void add_result(NodeId n, Type type, Name name);
  void claim_channel(Node& node);
  void require(NodeId n, std::string_view what) const;
  void require_value(Value v, std::string_view what) const;
  void add_use(Value v, Use use);
  void remove_use(NodeId n, std::uint32_t operand);
  void append_operand(NodeId n, Value v);
  void erase_operand(NodeId n, std::uint32_t i);
  std::uint32_t place_of_input(Value v) const;
  std::uint32_t next_operand(Value state) const;
  void reindex_nexts();
  void erase_input_node(Value v);
  void reindex_inputs();
  void link_before(std::uint32_t n, std::uint32_t place);
  void unlink(std::uint32_t n);
  void make_room_after(std::uint32_t n);
  void require_place(NodeId n, NodeId place) const;
  std::uint32_t intern_path(std::string_view path);
  void drop_result(Value v);
  void assign(Data data);

  Data data_;
  std::unique_ptr<Undo> undo_;
  std::vector<Cursor*> cursors_;
  std::vector<Remark> remarks_;
  std::uint64_t edits_ = 0;
};

/// True for the same nodes in the same order; names of values, graphs and modules are not compared.
bool equal_but_for_names(const Graph& a, const Graph& b);

inline At::At(Graph& g) : graph(&g), before(g.return_node()) {}
/// Right after a node; after all inputs for an input.
At after(Graph& g, NodeId n, std::string_view path = {});

inline Value Op::operator()(At at, std::span<const Value> inputs,
                            std::initializer_list<Named> given) const {
  NodeId n =
      at.graph->add(at, {.op = this, .inputs = inputs, .attributes = Attributes(*this, given)});
  return (*at.graph)[n].result_count > 0 ? at.graph->result(n) : Value{};
}
inline Value Op::operator()(At at, std::initializer_list<Value> inputs,
                            std::initializer_list<Named> given) const {
  return (*this)(at, std::span<const Value>(inputs.begin(), inputs.size()), given);
}
Value Op::operator()(At at, std::same_as<Value> auto... inputs) const {
  return (*this)(at, std::initializer_list<Value>{inputs...}, {});
}

}  // namespace hocket

#include "hocket/ir/node_range.h"  // which needs the whole class
