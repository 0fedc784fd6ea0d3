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
#include "hocket/ir/op.h"
#include "hocket/ir/store.h"
#include "hocket/ir/type.h"
#include "hocket/ir/world.h"

namespace hocket {

/// One place where a value is read: operand `operand` of `node`. Values that leave the graph are
/// operands of `Graph::return_node()`.
struct Use {
  NodeId node;
  std::uint32_t operand = 0;
  friend bool operator==(Use, Use) = default;
};

/// Iterations by which a node may be late: that a loop can be filled and drained is proved for
/// each.
inline constexpr int max_delay = 16;
/// Of forwarded state.
inline constexpr int max_slots = 64;

/// What a node is. Read it through `graph[n]`; change it through Graph.
struct Node {
  const Op* op = nullptr;
  SmallVector<Value, 4> inputs;
  Attributes attributes;
  std::shared_ptr<const Graph> region;
  std::uint32_t first_result = 0;
  std::uint32_t result_count = 0;
  std::int32_t delay = 0;
  std::int32_t stage = 0;  ///< of a pipeline, as the source marked it

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(*op, attributes, name);
  }
  /// The operands of slot `slot` of the op's record.
  std::span<const Value> slot(std::size_t slot) const;

 private:
  friend class Graph;
  friend class Copier;
  std::uint32_t path_ = 0;
  std::uint32_t input_ = 0;                      // of an input: its place among them
  SmallVector<std::uint32_t, 4> use_positions_;  // of each operand, in the use list of its value
};

enum class StateKind : std::uint8_t { parameter, buffer, optimizer, rng, forwarded };
std::string_view name(StateKind kind);
std::optional<StateKind> find_state_kind(std::string_view name);

/// What a sharded state is a piece of.
struct ShardOf {
  std::string group;
  Type type;
  friend bool operator==(const ShardOf&, const ShardOf&) = default;
};

/// What an input is, apart from its name in the text and its type.
struct InputInfo {
  std::vector<std::string> names = {};  ///< in the source; several when they share storage
  bool state = false;                   ///< carried from one iteration to the next
  StateKind kind = StateKind::buffer;   ///< of a state
  int slots = 1;                        ///< of a forwarded state: how many iterations it is kept
  std::optional<ShardOf> shard = {};
  std::vector<std::string> equal = {};  ///< groups in which a state must start with equal values
  friend bool operator==(const InputInfo&, const InputInfo&) = default;
};

struct Input : InputInfo {
  Value value;
};

struct Output {
  std::string name;
  Value value;
};

/// Channels lie between 0 and this.
inline constexpr std::int64_t max_channel = std::int64_t{1} << 40;

/// A node to be added. Only `op` is always needed; attributes left out have their defaults.
struct NodeSpec {
  const Op* op = nullptr;
  std::span<const Value> inputs = {};
  Attributes attributes = {};
  std::span<const std::string_view> names = {};  ///< wanted names of the results; default: the op's
  std::span<const Type> types = {};              ///< expected types; wrong ones are an error
  std::string_view path = {};
  int delay = 0;
  std::optional<int> stage = {};  ///< default: that of the node it is put before
  std::shared_ptr<const Graph> region = nullptr;
};

/// Where new nodes go: before a node of a graph, in the order they are made. A Graph by itself
/// means its end. Nodes made here get `path` unless their spec has one.
struct At {
  Graph* graph;
  NodeId before;
  std::string_view path = {};
  At(Graph& g);  // NOLINT(google-explicit-constructor): `mul(g, a, b)` is how graphs are written
  At(Graph& g, NodeId place, std::string_view module = {})
      : graph(&g), before(place), path(module) {}
};

template <bool reverse>
class ConstNodeRange;
template <bool reverse>
class NodeRange;

/// A value: copying it copies everything, and handles into it stay valid in the copy.
/// Costs are O(1) amortised unless a comment says otherwise.
class Graph {
 public:
  /// Without a world: one rank.
  explicit Graph(std::string name = "step", std::shared_ptr<const World> world = nullptr);
  Graph(const Graph& o);
  Graph(Graph&& o) noexcept;
  /// An edit like any other: a transaction that is open stays open and can take it back.
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
  /// `%y = gather: index 9 ...`, of what an op says about itself, with or without its name.
  std::string describe(NodeId n, std::string_view problem) const;

  bool is_input(NodeId n) const { return (*this)[n].op == &input_op; }
  NodeId return_node() const { return {1}; }
  std::span<const Input> inputs() const { return data_.inputs; }
  const Input& input(Value v) const;
  /// The value that replaces a state in the next iteration, or none when the state keeps its own.
  Value next(Value state) const;
  std::vector<Output> outputs() const;

  /// Execution order: true when a stands before b.
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

  /// All nodes but inputs and return, in execution order. The loop over a graph that is not const
  /// may erase, move and insert anything: it goes on behind the place where the current node stood.
  ConstNodeRange<false> nodes() const;
  NodeRange<false> nodes();

  // ---- editing
  void set_name(std::string name);
  void set_world(std::shared_ptr<const World> world);
  void set_ranks(std::vector<int> ranks);
  Value add_input(const Type& type, std::string_view name, InputInfo info = {});
  void set_input_info(Value input, InputInfo info);
  /// Refuses an input that is read or has a next. O(inputs).
  void erase_input(Value input);
  /// Erases inputs, each with its next value, that none but they themselves read. O(inputs and
  /// outputs) for all.
  void erase_inputs(std::span<const Value> inputs);
  void add_output(std::string name, Value v);
  /// Gives every output another value. O(inputs and outputs).
  void set_outputs(std::span<const Value> values);
  /// O(inputs and outputs).
  void erase_output(std::size_t i);
  void set_next(Value state, Value next);
  /// O(inputs and outputs).
  void clear_next(Value state);

  /// Checks operands and attributes, finds the result types, and adds the node at its place.
  /// Throws Error when the op refuses.
  NodeId add(At at, const NodeSpec& spec);
  /// The result types that `add` would give the node. Throws Error when the op refuses operands,
  /// attributes or the types expected.
  std::vector<Type> infer(const NodeSpec& spec) const;
  /// Refuses a node that still has readers, naming them.
  void erase(NodeId n);
  void move_before(NodeId n, NodeId place);
  void move_after(NodeId n, NodeId place);

  void set_operand(NodeId n, std::uint32_t i, Value v);
  /// Every reader of `old` that `accept` likes (all, without one) reads `with` from now on.
  /// O(uses).
  void replace_uses(Value old, Value with, const std::function<bool(Use)>& accept = nullptr);
  void set_attribute(NodeId n, std::string_view name, Attribute value);
  void set_path(NodeId n, std::string_view path);
  void set_delay(NodeId n, int delay);
  void set_stage(NodeId n, int stage);
  void set_region(NodeId n, Graph region);
  void set_type(Value v, const Type& type);
  void rename(Value v, std::string_view wanted);
  /// For a replacement that shall be known by the name of what it replaces.
  void swap_names(Value a, Value b);
  /// A channel that no node has had yet.
  std::int64_t fresh_channel() const { return data_.next_channel; }

  // ---- history
  /// Grows with every edit: "did the pass change anything?"
  std::uint64_t edits() const { return edits_; }
  /// Opens a transaction; there is one at a time.
  void begin();
  void commit();
  /// Takes back everything since begin(). Handles made since are void. O(edits).
  void rollback();
  bool in_transaction() const { return undo_ != nullptr; }
  /// Living nodes edited, moved, added or differently used since begin(), in execution order.
  /// All nodes when the whole graph was assigned.
  std::vector<NodeId> touched() const;

  /// What a pass wants to tell. Not part of the graph's value; the pass runner collects it.
  void remark(Remark r) { remarks_.push_back(std::move(r)); }
  std::vector<Remark> take_remarks() { return std::exchange(remarks_, {}); }

  /// InternalError when lists, uses, names or order are not consistent. O(graph); for tests.
  void check_consistency() const;

  /// Equal text, but for channels.
  friend bool operator==(const Graph& a, const Graph& b);

 private:
  template <bool reverse>
  friend class NodeRange;
  friend class Copier;

  // The label of the return node, beyond all others.
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
  struct Interface {  // the part of Data that is saved whole, once per transaction
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

/// The same nodes in the same order, whatever values, graphs and modules are called.
bool equal_but_for_names(const Graph& a, const Graph& b);

/// Walks a graph that nobody edits meanwhile.
template <bool reverse>
class ConstNodeRange {
 public:
  class Iterator {
   public:
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Graph* g, NodeId n) : graph_(g), node_(n) {}
    NodeId operator*() const { return node_; }
    Iterator& operator++() {
      node_ = reverse ? graph_->preceding(node_) : graph_->following(node_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.node_ == b.node_; }

   private:
    const Graph* graph_ = nullptr;
    NodeId node_;
  };

  explicit ConstNodeRange(const Graph& g) : graph_(&g) {}
  Iterator begin() const {
    return reverse ? at(graph_->preceding(graph_->return_node())) : at(graph_->first_node());
  }
  Iterator end() const {
    return reverse ? at(graph_->preceding(graph_->first_node())) : at(graph_->return_node());
  }
  friend ConstNodeRange<!reverse> reversed(ConstNodeRange r) {
    return ConstNodeRange<!reverse>(*r.graph_);
  }

 private:
  Iterator at(NodeId n) const { return Iterator(graph_, n); }
  const Graph* graph_;
};

/// Walks a graph under edits: the graph knows its walkers and tells them when their node leaves.
template <bool reverse>
class NodeRange {
 public:
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Graph& g) : graph_(&g) {
      cursor_.reverse = reverse;
      cursor_.current = reverse ? g.preceding(g.return_node()) : g.first_node();
      graph_->cursors_.push_back(&cursor_);
    }
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;
    ~Iterator() { std::erase(graph_->cursors_, &cursor_); }
    NodeId operator*() const { return cursor_.current; }
    Iterator& operator++() {
      cursor_.current = cursor_.detached ? cursor_.resume
                        : reverse        ? graph_->preceding(cursor_.current)
                                         : graph_->following(cursor_.current);
      cursor_.detached = false;
      return *this;
    }
    bool operator==(End) const {
      return !cursor_.current || cursor_.current == graph_->return_node() ||
             graph_->is_input(cursor_.current);
    }

   private:
    Graph* graph_;
    Graph::Cursor cursor_;
  };

  explicit NodeRange(Graph& g) : graph_(&g) {}
  Iterator begin() const { return Iterator(*graph_); }
  End end() const { return {}; }
  friend NodeRange<!reverse> reversed(NodeRange r) { return NodeRange<!reverse>(*r.graph_); }

 private:
  Graph* graph_;
};

inline ConstNodeRange<false> Graph::nodes() const { return ConstNodeRange<false>(*this); }
inline NodeRange<false> Graph::nodes() { return NodeRange<false>(*this); }

inline At::At(Graph& g) : graph(&g), before(g.return_node()) {}
/// Right behind a node; behind all inputs for an input.
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
