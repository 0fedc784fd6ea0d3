#pragma once
// Matches the inputs of a program before and after passes by name.

#include <cstddef>
#include <optional>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

/// For every input of `to`, the input of `from` that has its name in the graph of the same number.
class InputMap {
 public:
  InputMap(const Program& from, const Program& to);

  /// By input of a graph of `to`; none where `from` has no such input.
  const std::vector<std::optional<std::size_t>>& of(std::size_t graph) const {
    return table_[graph];
  }
  /// The same values, by input of `to`. O(inputs); tensors share their bytes.
  InputTables apply(const InputTables& tables) const;

 private:
  std::vector<std::vector<std::optional<std::size_t>>> table_;
  const Program& to_;
};

}  // namespace hocket
