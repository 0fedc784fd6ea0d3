#pragma once
// The records of a graph, and the specification of a new node.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/small_vector.h"
#include "hocket/ir/ids.h"
#include "hocket/ir/op.h"
#include "hocket/ir/type.h"

namespace hocket {

/// One place where a value is read: operand `operand` of `node`. Values that leave the graph are
/// operands of `Graph::return_node()`.
struct Use {
  NodeId node;
  std::uint32_t operand = 0;
  friend bool operator==(Use, Use) = default;
};

/// The largest delay of a node. It bounds the number of phases, all of which `check_seams` checks.
inline constexpr int max_delay = 16;
/// The largest number of slots of a forwarded state.
inline constexpr int max_slots = 64;

/// A node. Read it through `graph[n]`; change it through Graph.
struct Node {
  const Op* op = nullptr;
  SmallVector<Value, 4> inputs;
  Attributes attributes;
  std::shared_ptr<const Graph> region;
  std::uint32_t first_result = 0;
  std::uint32_t result_count = 0;
  std::int32_t delay = 0;
  std::int32_t stage = 0;  ///< pipeline stage, as marked in the source

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
  std::uint32_t input_ = 0;                      // of an input: its index among the inputs
  SmallVector<std::uint32_t, 4> use_positions_;  // by operand: position in the value's use list
};

enum class StateKind : std::uint8_t { parameter, buffer, optimizer, rng, forwarded };
std::string_view name(StateKind kind);
std::optional<StateKind> find_state_kind(std::string_view name);

/// The group over which a state is sharded, and the type of the whole.
struct ShardOf {
  std::string group;
  Type type;
  friend bool operator==(const ShardOf&, const ShardOf&) = default;
};

/// The properties of an input other than its name in the text and its type.
struct InputInfo {
  std::vector<std::string> names = {};  ///< in the source; several when they share storage
  bool state = false;                   ///< carried from one iteration to the next
  StateKind kind = StateKind::buffer;   ///< of a state
  int slots = 1;  ///< of a forwarded state: number of iterations that it is kept
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

/// Channels are at least 0 and at most this.
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

/// The place for new nodes: before a node of a graph, in the order in which they are added. A Graph
/// alone means its end. New nodes get `path` unless their spec has one.
struct At {
  Graph* graph;
  NodeId before;
  std::string_view path = {};
  At(Graph& g);  // NOLINT(google-explicit-constructor): `mul(g, a, b)` is how graphs are written
  At(Graph& g, NodeId place, std::string_view module = {})
      : graph(&g), before(place), path(module) {}
};

}  // namespace hocket
