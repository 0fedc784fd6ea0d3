#pragma once
// The iteration that each value of a rotated body belongs to, and the original operands of its
// nodes.

#include <string>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"
#include "hocket/iter/replaced_states.h"

namespace hocket {

/// Thrown if the delays and the forwarded state of a body are inconsistent. The message says where
/// and ends with `[loop]`, like the rule of a verifier message.
class LoopError : public Error {
 public:
  LoopError(const Graph& body, NodeId where, const std::string& message)
      : Error(message + " [loop]"), graph(&body), node(where) {}

  const Graph* graph;
  NodeId node;  ///< none when no single node is at fault
};

/// A view of a body whose nodes have delays. Kernel iteration t runs a node for its own iteration
/// t - delay; likewise every value belongs to the iteration t - lag:
///
///   result of a node     its delay
///   fed input            0
///   state                the lag of its next value: it is what that iteration began with
///   forwarded(s) state   the lag of its next value, and s more
///
/// A reader and what it reads have equal lags, with two exceptions. A loop-invariant value is
/// *timeless*: a reader with any delay may read it. And a reader that runs one iteration ahead of
/// the update of a state reads the new value itself, which *stands in* for the state.
class Lags {
 public:
  /// O(graph). Throws LoopError when forwarded state forms a cycle or has no next value. The body
  /// must not be edited while this is in use.
  explicit Lags(const Graph& body);

  /// Loop-invariant: state that keeps its value, and pure nodes that read only timeless values.
  /// Their delays have no effect: every phase that needs them runs them.
  bool timeless(Value v) const { return timeless_[v.index]; }
  bool timeless(NodeId n) const { return body_[n].result_count > 0 && timeless(body_.result(n)); }
  int lag(Value v) const { return lag_[v.index]; }
  /// For forwarded state, the value that it forwards from an earlier iteration; otherwise the value
  /// itself.
  Value base(Value v) const { return base_[v.index]; }
  bool is_state(Value v) const { return is_state_[v.index]; }
  /// True for the next value of a state with an initial value.
  bool is_next(Value v) const { return static_cast<bool>(with_start(replaced_.first(v))); }
  /// The state that a value stands in for, for readers that run one iteration ahead; none for a
  /// value that is not the next value of a state. Throws LoopError when several states share it.
  Value state_of(Value next) const;

  /// The operand that the reader has in the body before any rotation: a result, a fed input or a
  /// state of its own iteration. Throws LoopError if the lags do not match.
  Value meaning(NodeId reader, Value operand) const;
  /// An output belongs to the iteration t - lag, and means a value of that iteration.
  struct OutputMeaning {
    Value value;
    int lag = 0;
  };
  OutputMeaning output(Value v) const;

  /// The number of kernel iterations after which all work for an iteration is done: the maximum of
  /// the delays of nodes and the lags of outputs and states (these may read forwarded state and so
  /// lag more than any node). Throws LoopError beyond `max_delay`. O(graph).
  int depth() const;
  /// The number of iterations after which the slots of all forwarded state repeat. Throws LoopError
  /// beyond `max_turns`.
  int turns() const;

 private:
  [[noreturn]] void refuse(Value state, const std::string& why) const;
  std::string advice(Value operand, int delay) const;
  void find_timeless();
  void settle(Value input, std::vector<Value>& path);
  bool is_input(Value v) const { return body_.is_input(body_.node(v)); }
  bool stands_in(Value v, int delay) const {
    return lag(v) == delay + 1 && is_next(v) && !is_input(v);
  }

  /// The first state with an initial value among this one and the following states with the same
  /// next value.
  Value with_start(Value state) const;

  const Graph& body_;
  ReplacedStates replaced_;
  std::vector<char> timeless_, settled_, is_state_;  // by value
  std::vector<int> lag_;
  std::vector<Value> base_;
};

/// The slots of all graphs of a program must repeat together after at most this many iterations.
inline constexpr int max_turns = max_slots;
/// The least common multiple of `turns` and `slots`: the iterations after which both repeat
/// together. Some number above `max_turns` if it is larger than that.
int joint_turns(int turns, int slots);

bool is_forwarded(const Graph& body, Value v);

/// True if a body has delays or forwarded state, so that only its phases can be run. O(graph).
bool is_rotated(const Graph& body);

/// The first node that is not timeless, otherwise the return node. No node before it depends on a
/// delayed node, but it may be delayed itself. O(graph).
NodeId first_that_changes(const Graph& body);

}  // namespace hocket
