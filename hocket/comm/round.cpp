#include "hocket/comm/round.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "hocket/comm/bell.h"
#include "hocket/comm/reduce.h"

namespace hocket::comm {
namespace {

constexpr std::uint64_t closed = std::uint64_t{1} << 63;
constexpr int most_chunks = 62;
constexpr std::int64_t at_once = 16 << 10;     // bytes that the last to come moves by itself
constexpr std::int64_t chunk_bytes = 1 << 20;  // so that ranks share evenly where they can
constexpr std::int64_t unit_alignment = 64;    // elements: no two chunks write to one cache line

void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (to != nullptr && to != from && bytes > 0)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

Round::Round(Lane& in, int count)
    : lane(in), seats(count), posts(std::make_unique<Post[]>(static_cast<std::size_t>(count))) {
  for (int i = 0; i < seats; ++i) {
    posts[static_cast<std::size_t>(i)].round = this;
    posts[static_cast<std::size_t>(i)].seat = i;
  }
}

bool Round::arrive(int seat) {
  posts[static_cast<std::size_t>(seat)].here.store(true);
  return arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(seats);
}

void Round::open() {
  mismatch = disagreement(*this);
  if (!mismatch.empty()) {
    phase.store(Phase::mismatched);
    return;
  }
  const Post& any = posts[0];
  std::int64_t bytes = any.bytes();
  units = 0;
  for (const auto& m : any.members) units += m.count;
  if (any.kind == Kind::all_gather) {
    units *= seats;
    bytes *= seats;
  }
  if (any.kind == Kind::all_to_all) {
    units = seats;
    bytes = 0;
    for (const Post& p : all()) bytes += p.bytes();
    bytes /= seats;
  }
  std::int64_t even = (bytes / chunk_bytes + seats - 1) / seats * seats;
  chunks =
      bytes <= at_once ? 1 : static_cast<int>(std::clamp<std::int64_t>(even, seats, most_chunks));
  chunks = std::min(chunks, most_chunks);
  ready_at = now();
  if (bytes > at_once) {
    phase.store(Phase::ready);
    return;
  }
  // Still closed to others, except for one that takes its call back.
  std::uint64_t none = 0;
  if (claims.compare_exchange_strong(none, 1)) finish_chunk(0);
}

bool Round::help(int seat) {
  bool last = false;
  int first = static_cast<int>(static_cast<std::int64_t>(seat) * chunks / seats);
  std::uint64_t taken = claims.load();
  for (int i = 0; i < chunks; ++i) {
    int chunk = (first + i) % chunks;
    std::uint64_t bit = std::uint64_t{1} << chunk;
    while ((taken & (bit | closed)) == 0)
      if (claims.compare_exchange_weak(taken, taken | bit)) {
        last = finish_chunk(chunk);
        taken = claims.load();
      }
  }
  return last;
}

bool Round::finish_chunk(int chunk) {
  bool rows = posts[0].kind == Kind::all_to_all;
  auto border = [&](std::int64_t i) {
    std::int64_t at = units * i / chunks;
    return rows || i == chunks ? at : at / unit_alignment * unit_alignment;
  };
  run(border(chunk), border(chunk + 1));
  if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < chunks) return false;
  complete_at = now();
  phase.store(Phase::complete);
  return true;
}

void Round::close() {
  std::uint64_t taken = claims.fetch_or(closed) & ~closed;
  while (done.load(std::memory_order_acquire) < std::popcount(taken)) std::this_thread::yield();
}

void Round::reset() {
  for (int i = 0; i < seats; ++i) {
    Post& p = posts[static_cast<std::size_t>(i)];
    p.here.store(false, std::memory_order_relaxed);
    p.settled = false;
    if (!p.copies.empty()) p.copies.clear();
  }
  next.store(nullptr, std::memory_order_relaxed);
  arrived.store(0, std::memory_order_relaxed);
  phase.store(Phase::open, std::memory_order_relaxed);
  claims.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  left.store(0, std::memory_order_relaxed);
}

/// Units are the elements of the operands, member after member; of the results where kind is
/// all_gather; receiving ranks where it is all_to_all.
void Round::run(std::int64_t first, std::int64_t last) const {
  const Post& any = posts[0];
  if (any.kind == Kind::all_to_all) {
    for (std::int64_t to = first; to < last; ++to) exchange_rows(static_cast<std::size_t>(to));
    return;
  }
  bool reduces = any.kind <= Kind::reduce || any.kind == Kind::reduce_scatter;
  for (std::size_t m = 0; m < any.members.size() && first < last; ++m) {
    std::int64_t length = any.members[m].count * (any.kind == Kind::all_gather ? seats : 1);
    std::int64_t end = std::min(last, length);
    if (first < end) reduces ? reduce_range(m, first, end) : copy_range(m, first, end);
    first = std::max<std::int64_t>(first - length, 0);
    last -= length;
  }
}

void Round::reduce_range(std::size_t member, std::int64_t first, std::int64_t last) const {
  const Post& any = posts[0];
  std::int64_t size = bytes(any.dtype);
  SmallVector<const void*, 16> operands;
  SmallVector<void*, 16> results;
  while (first < last) {
    std::int64_t end = last;
    int owner = any.kind == Kind::reduce ? any.peer : -1;  // -1: all
    std::int64_t skipped = 0;                              // elements before the owner's piece
    if (any.kind == Kind::reduce_scatter) {
      std::int64_t piece = any.members[member].count / seats;
      owner = static_cast<int>(first / piece);
      skipped = owner * piece;
      end = std::min(end, skipped + piece);
    }
    operands.clear();
    results.clear();
    for (const Post& p : all()) {
      const Post::Range& r = p.members[member];
      operands.push_back(r.send + first * size);
      if (r.recv != nullptr && (owner < 0 || p.seat == owner))
        results.push_back(r.recv + (first - skipped) * size);
    }
    reduce_elements(any.dtype, any.reduce, {operands.data(), operands.size()},
                    {results.data(), results.size()}, end - first);
    if (any.kind == Kind::reduce)
      for (const Post& p : all())
        if (const Post::Range& r = p.members[member]; p.seat != owner && r.recv != nullptr)
          copy(r.recv + first * size, r.send + first * size, (end - first) * size);
    first = end;
  }
}

/// broadcast, send and all_gather: what one rank has goes to all.
void Round::copy_range(std::size_t member, std::int64_t first, std::int64_t last) const {
  const Post& any = posts[0];
  std::int64_t size = bytes(any.dtype), count = any.members[member].count;
  while (first < last) {
    std::int64_t end = last, skipped = 0;
    int source = any.kind == Kind::broadcast ? any.peer : 0;  // a sender has the first seat
    if (any.kind == Kind::all_gather) {
      source = static_cast<int>(first / count);
      skipped = source * count;
      end = std::min(end, skipped + count);
    }
    const std::byte* from = posts[static_cast<std::size_t>(source)].members[member].send;
    for (const Post& p : all())
      if (std::byte* to = p.members[member].recv)
        copy(to + first * size, from + (first - skipped) * size, (end - first) * size);
    first = end;
  }
}

void Round::exchange_rows(std::size_t to) const {
  const Post& receiver = posts[to];
  auto size = static_cast<std::size_t>(seats);
  for (std::size_t m = 0; m < receiver.members.size(); ++m) {
    std::int64_t row = receiver.members[m].row * bytes(receiver.dtype);
    std::byte* at = receiver.members[m].recv;
    for (const Post& p : all()) {
      std::int64_t first = 0;
      for (std::size_t i = 0; i < to; ++i) first += p.rows[2 * m * size + i];
      std::int64_t length = p.rows[2 * m * size + to] * row;
      if (length == 0) continue;
      copy(at, p.members[m].send + first * row, length);
      at += length;
    }
  }
}

}  // namespace hocket::comm
