#pragma once

#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// Maps each value to the states whose next value it is; several states can share one next value.
/// Construction is O(inputs + values). Invalid once a next value is changed.
class ReplacedStates {
 public:
  explicit ReplacedStates(const Graph& g) : first_(g.value_bound()), more_(g.value_bound()) {
    for (const Input& in : g.inputs()) {
      Value next = in.state ? g.next(in.value) : Value{};
      if (!next) continue;
      more_[in.value.index] = first_[next.index];
      first_[next.index] = in.value;
    }
  }
  /// One of these states; none if there is none.
  Value first(Value next) const { return first_[next.index]; }
  /// Another state with the same next value.
  Value another(Value state) const { return more_[state.index]; }

 private:
  std::vector<Value> first_, more_;  // by value
};

}  // namespace hocket
