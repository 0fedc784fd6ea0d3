#pragma once
// The lags of the outputs and the state of a body.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

struct Timing {
  std::vector<int> outputs;                        ///< lags, by output
  std::map<std::string, int, std::less<>> states;  ///< lags of state with an initial value, by name
};

/// O(graph). Throws LoopError when delays and forwarded state do not fit together.
Timing timing_of(const Graph& body);

/// The first output or state whose lag differs from `before`, so that it belongs to another
/// iteration. State that only one of the two has is not compared.
std::optional<std::string> find_shift(const Graph& body, const Timing& before, const Timing& after);

}  // namespace hocket
