#include "hocket/lower/lifetimes.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "hocket/base/error.h"
#include "hocket/plan/plan.h"

namespace hocket {
namespace {

constexpr std::int64_t most_bytes_in_all = std::int64_t{1} << 62;

struct Moment {
  std::uint32_t time, index;
};

/// Sorts by time and keeps the order of equal ones.
std::vector<Moment> sorted_by_time(std::vector<Moment> moments) {
  constexpr std::uint32_t bits = 11, digits = 1 << bits;
  std::uint32_t most = 0;
  for (const Moment& m : moments) most = std::max(most, m.time);
  std::vector<Moment> out(moments.size());
  for (std::uint32_t shift = 0; shift < 32 && most >> shift > 0; shift += bits) {
    auto digit = [&](const Moment& m) { return (m.time >> shift) % digits; };
    std::array<std::uint32_t, digits + 1> place{};
    for (const Moment& m : moments) ++place[digit(m) + 1];
    for (std::uint32_t d = 0; d < digits; ++d) place[d + 1] += place[d];
    for (const Moment& m : moments) out[place[digit(m)]++] = m;
    moments.swap(out);
  }
  return moments;
}

/// Sorts what comes into use at the same time, and everything by its end.
Lifetimes completed(std::vector<Lifetime> by_first) {
  for (auto from = by_first.begin(); from != by_first.end();) {
    auto to = std::find_if(from, by_first.end(),
                           [&](const Lifetime& b) { return b.first != from->first; });
    std::sort(from, to, [](const Lifetime& a, const Lifetime& b) {
      return std::tie(b.bytes, b.last, a.block) < std::tie(a.bytes, a.last, b.block);
    });
    from = to;
  }
  std::vector<Moment> ends(by_first.size());
  for (std::uint32_t i = 0; i < ends.size(); ++i) ends[i] = {by_first[i].last, i};
  Lifetimes out{std::move(by_first), {}};
  out.by_last.reserve(ends.size());
  for (const Moment& m : sorted_by_time(std::move(ends))) out.by_last.push_back(m.index);
  return out;
}

}  // namespace

Lifetimes lifetimes(std::span<const Block> blocks) {
  std::vector<Moment> starts;
  starts.reserve(blocks.size());
  std::int64_t total = 0;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    if (b.bytes < 0 || b.first > b.last)
      internal_fail("place_blocks: block {} has {} bytes from {} to {}", i, b.bytes, b.first,
                    b.last);
    if (b.bytes > most_bytes_in_all - plan_alignment - total)
      fail("memory: {} blocks take more than 2^62 bytes", blocks.size());
    total += (b.bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
    if (b.bytes > 0) starts.push_back({b.first, i});
  }
  std::vector<Lifetime> by_first;
  by_first.reserve(starts.size());
  for (const Moment& m : sorted_by_time(std::move(starts))) {
    const Block& b = blocks[m.index];
    by_first.push_back({(b.bytes + plan_alignment - 1) / plan_alignment * plan_alignment, b.first,
                        b.last, m.index});
  }
  return completed(std::move(by_first));
}

Lifetimes mirrored(const Lifetimes& blocks) {
  if (blocks.by_last.empty()) return {};
  std::uint32_t end = blocks.by_first[blocks.by_last.back()].last;
  std::vector<Lifetime> by_first;
  by_first.reserve(blocks.by_first.size());
  for (auto i = blocks.by_last.rbegin(); i != blocks.by_last.rend(); ++i) {
    const Lifetime& b = blocks.by_first[*i];
    by_first.push_back({b.bytes, end - b.last, end - b.first, b.block});
  }
  return completed(std::move(by_first));
}

std::int64_t live_bound(const Lifetimes& blocks) {
  std::int64_t live = 0, most = 0;
  auto ended = blocks.by_last.begin();
  for (const Lifetime& b : blocks.by_first) {
    for (; blocks.by_first[*ended].last < b.first; ++ended) live -= blocks.by_first[*ended].bytes;
    live += b.bytes;
    most = std::max(most, live);
  }
  return most;
}

std::int64_t live_bound(std::span<const Block> blocks) { return live_bound(lifetimes(blocks)); }

}  // namespace hocket
