#include "hocket/lower/place_blocks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hocket/lower/best_fit.h"
#include "hocket/lower/lifetimes.h"
#include "hocket/lower/lowest_fit.h"

namespace hocket {
namespace {

using BlockOrder = std::vector<std::uint32_t>;  // of indices in Lifetimes::by_first

/// The blocks with the largest key come first.
template <class Key>
BlockOrder descending(const Lifetimes& blocks, Key key) {
  std::vector<double> keys;
  keys.reserve(blocks.by_first.size());
  for (const Lifetime& b : blocks.by_first) keys.push_back(key(b));
  BlockOrder order(keys.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] > keys[b]; });
  return order;
}

double size_of_block(const Lifetime& b) { return static_cast<double>(b.bytes); }

/// It is hardest to find room for large blocks, and of these for long ones. Measured on training
/// steps, this power of the length does best.
double weight_of_block(const Lifetime& b) {
  return size_of_block(b) * std::sqrt(std::sqrt(static_cast<double>(b.last - b.first) + 1));
}

/// Looks for an order in which blocks, placed one after another as low as they fit, end near the
/// bound. Stops after a number of steps, and does not even begin with too many blocks.
class OrderSearch {
 public:
  /// `best` is the best placement so far, of any kind.
  OrderSearch(const Lifetimes& blocks, std::int64_t bound, Placement& best)
      : blocks_(blocks), bound_(bound), best_(best), fit_(blocks), offsets_(best.offsets.size()) {}

  void run() {
    if (near_bound() || fit_.expected_steps() > most_steps_) return;
    BlockOrder order = descending(blocks_, weight_of_block);
    if (!place(order, order.size()) || near_bound()) return;
    std::int64_t bytes = bytes_;
    BlockOrder by_size = descending(blocks_, size_of_block);
    if (!place(by_size, order.size()) || near_bound()) return;
    auto n = static_cast<std::int64_t>(order.size());
    most_steps_ =
        fit_.steps() + std::clamp(1000 * n, fewest_steps_to_improve, most_steps_to_improve);
    improve(bytes_ < bytes ? std::move(by_size) : std::move(order));
  }

 private:
  // A step takes some nanoseconds. These numbers keep 2000 blocks at a few milliseconds.
  static constexpr std::int64_t most_steps_for_orders = 16'000'000;
  static constexpr std::int64_t fewest_steps_to_improve = 2'000'000;
  static constexpr std::int64_t most_steps_to_improve = 4'000'000;

  bool near_bound() const { return best_.bytes - bound_ <= bound_ / 256; }

  /// Places blocks in this order, and sets `above_` to the places in it of those that end above the
  /// bound. Goes on for `more` blocks when it is clear that the result is not better than the best.
  /// False when it has taken too many steps.
  bool place(const BlockOrder& order, std::size_t more) {
    fit_.clear();
    above_.clear();
    bytes_ = 0;
    std::size_t stop = order.size();
    for (std::size_t k = 0; k < stop; ++k) {
      if (fit_.steps() > most_steps_) return false;
      const Lifetime& b = blocks_.by_first[order[k]];
      std::int64_t offset = fit_.place(b);
      offsets_[b.block] = offset;
      bytes_ = std::max(bytes_, offset + b.bytes);
      if (offset + b.bytes <= bound_) continue;
      above_.push_back(k);
      if (offset + b.bytes >= best_.bytes) stop = std::min(stop, k + 1 + more);
    }
    if (stop == order.size() && bytes_ < best_.bytes) {
      best_.bytes = bytes_;
      best_.offsets = offsets_;
    }
    return true;
  }

  /// Blocks that found no room below the bound come earlier the next time.
  void improve(BlockOrder order) {
    while (!near_bound() && place(order, 3)) order = reordered(order);
  }

  /// Most of the blocks above the bound go to the front. The others go to any place before their
  /// own, or else orders could repeat in a circle.
  BlockOrder reordered(const BlockOrder& order) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> moved;  // new place, and what comes there
    for (std::size_t k : above_)
      moved.emplace_back(random_below(4) > 0 ? 0 : random_below(k + 1), order[k]);
    std::stable_sort(moved.begin(), moved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    BlockOrder out;
    out.reserve(order.size());
    auto next = moved.begin();
    auto left_out = above_.begin();
    for (std::size_t k = 0; k < order.size(); ++k) {
      for (; next != moved.end() && next->first == k; ++next) out.push_back(next->second);
      if (left_out != above_.end() && *left_out == k)
        ++left_out;
      else
        out.push_back(order[k]);
    }
    return out;
  }

  std::uint64_t random_below(std::uint64_t count) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return (random_ >> 32) * count >> 32;
  }

  const Lifetimes& blocks_;
  std::int64_t bound_;
  Placement& best_;
  LowestFit fit_;
  std::int64_t most_steps_ = most_steps_for_orders;
  std::uint64_t random_ = 1;
  // Of the order placed last:
  std::vector<std::int64_t> offsets_;
  std::vector<std::size_t> above_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Placement place_blocks(std::span<const Block> blocks) {
  Lifetimes forwards = lifetimes(blocks);
  std::int64_t bound = live_bound(forwards);
  Placement best = best_fit(forwards, blocks.size());
  if (best.bytes == bound) return best;
  if (Placement other = best_fit(mirrored(forwards), blocks.size()); other.bytes < best.bytes)
    best = std::move(other);
  OrderSearch(forwards, bound, best).run();
  return best;
}

}  // namespace hocket
