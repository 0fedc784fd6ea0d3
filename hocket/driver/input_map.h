#pragma once
// The inputs of a program before and after passes, matched by name once.

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
  /// The same values, by input of `to`. O(inputs); elements are shared.
  InputTables apply(const InputTables& tables) const;

 private:
  std::vector<std::vector<std::optional<std::size_t>>> table_;
  const Program& to_;
};

}  // namespace hocket
