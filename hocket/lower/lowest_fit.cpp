#include "hocket/lower/lowest_fit.h"

#include <algorithm>
#include <bit>

namespace hocket {
namespace {

/// A window is as long as the mean lifetime, so that most blocks are in few of them. Less than four
/// windows would help less than they cost blocks that are in all.
constexpr std::uint64_t blocks_per_window = 32, fewest_windows = 4;
/// The time that a block takes by itself.
constexpr std::int64_t least_steps = 16;

}  // namespace

LowestFit::LowestFit(const Lifetimes& blocks) {
  std::uint64_t n = blocks.by_first.size(), length = 1, range = 1;
  if (n > 0) {
    start_ = blocks.by_first.front().first;
    range += blocks.by_first[blocks.by_last.back()].last - start_;
    std::uint64_t lengths = 0;
    for (const Lifetime& b : blocks.by_first) lengths += b.last - b.first;
    length += std::max(lengths / n, range * blocks_per_window / n);
  }
  if (int shift = std::bit_width(length - 1); range >> shift >= fewest_windows) shift_ = shift;
  windows_.resize(((range - 1) >> shift_) + 1);
  at_.resize(windows_.size());
  expected_steps_ = static_cast<std::int64_t>(n * (n / windows_.size() / 4 + least_steps));
}

void LowestFit::clear() {
  for (auto& list : windows_) list.clear();
}

std::int64_t LowestFit::place(const Lifetime& b) {
  std::size_t from = window(b.first), to = window(b.last);
  for (std::size_t w = from; w <= to; ++w) at_[w] = 0;
  std::int64_t begin = 0;
  // Where one list leaves room, another one may not: again until none of them objects.
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = from; w <= to; ++w) {
      const std::vector<Placed>& list = windows_[w];
      std::size_t i = at_[w];
      for (; i < list.size(); ++i) {
        const Placed& p = list[i];
        if (p.last < b.first || p.first > b.last) continue;
        if (p.begin - begin >= b.bytes) break;
        if (p.end <= begin) continue;
        begin = p.end;
        moved = from < to;
      }
      at_[w] = i;
    }
  }
  for (std::size_t w = from; w <= to; ++w) {
    std::vector<Placed>& list = windows_[w];
    steps_ += static_cast<std::int64_t>(at_[w]) + least_steps;
    auto place =
        std::upper_bound(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(at_[w]), begin,
                         [](std::int64_t offset, const Placed& p) { return offset < p.begin; });
    list.insert(place, {begin, begin + b.bytes, b.first, b.last});
  }
  return begin;
}

}  // namespace hocket
