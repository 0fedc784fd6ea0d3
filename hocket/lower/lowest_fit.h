#pragma once
// Places blocks one after another, in any order, as low as they fit.

#include <cstdint>
#include <vector>

#include "hocket/lower/lifetimes.h"

namespace hocket {

/// What is placed so far, in windows of time. Each window has a list of the blocks that are in use
/// in it, by offset; with long lifetimes there is one window.
class LowestFit {
 public:
  explicit LowestFit(const Lifetimes& blocks);
  void clear();

  /// Places a block at the lowest offset where it meets no other one. O(blocks in its windows).
  std::int64_t place(const Lifetime& b);

  /// How many blocks all calls have looked at: a measure of time that is always the same.
  std::int64_t steps() const { return steps_; }
  /// About as many as it takes to place all blocks once.
  std::int64_t expected_steps() const { return expected_steps_; }

 private:
  struct Placed {
    std::int64_t begin, end;
    std::uint32_t first, last;
  };

  std::size_t window(std::uint32_t time) const {
    return static_cast<std::uint64_t>(time - start_) >> shift_;
  }

  std::vector<std::vector<Placed>> windows_;
  std::uint32_t start_ = 0;
  int shift_ = 32;
  std::vector<std::size_t> at_;  // by window: where in its list a search has come
  std::int64_t steps_ = 0, expected_steps_ = 0;
};

}  // namespace hocket
