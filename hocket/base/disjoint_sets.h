#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace hocket {

/// Sets of the numbers below `count`, joined two at a time. One member stands for its whole set.
/// Costs nearly O(1).
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count = 0) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  /// One number more, in a set of its own.
  void add() { parent_.push_back(static_cast<std::uint32_t>(parent_.size())); }
  std::uint32_t find(std::uint32_t i) const {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// Who stands for `a` stands for both sets.
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(b)] = find(a); }

 private:
  mutable std::vector<std::uint32_t> parent_;  // find() shortens the ways to the root
};

}  // namespace hocket
