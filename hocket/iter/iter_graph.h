#pragma once
// A training step as a loop: one body with loop-carried values.

#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// A loop-carried value: read as `state`, replaced by `next` at the end of the body.
struct Carry {
  Value state;
  Value next;  ///< the state itself if the body does not change it
  StateKind kind = StateKind::buffer;
  std::vector<std::string> names;  ///< in the source

  bool changes() const { return next != state; }
};

/// A checked view of a graph as the body of a loop. All data stays in the graph.
class IterGraph {
 public:
  /// Throws Error when a next value has another type than its state.
  explicit IterGraph(const Graph& body);

  const Graph& body() const { return *body_; }
  /// In the order of the inputs.
  const std::vector<Carry>& carries() const { return carries_; }
  /// Inputs that are fed a new value in each iteration, in order.
  const std::vector<Value>& fed() const { return fed_; }
  /// The carry with this name in the source or in the text; null if there is none.
  const Carry* find(std::string_view name) const;

 private:
  const Graph* body_;
  std::vector<Carry> carries_;
  std::vector<Value> fed_;
};

}  // namespace hocket
