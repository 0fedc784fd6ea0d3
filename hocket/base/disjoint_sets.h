#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace hocket {

/// Union-find over the numbers below `count`. One member of each set, the root, represents it. Each
/// call costs nearly O(1).
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count = 0) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  /// Adds one number, in a set of its own.
  void add() { parent_.push_back(static_cast<std::uint32_t>(parent_.size())); }
  std::uint32_t find(std::uint32_t i) const {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// The root of `a` becomes the root of both sets.
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(b)] = find(a); }

 private:
  mutable std::vector<std::uint32_t> parent_;  // find() shortens the paths to the root
};

}  // namespace hocket
