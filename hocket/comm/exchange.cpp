#include <algorithm>
#include <cstring>
#include <numeric>

#include "hocket/comm/reduce.h"
#include "hocket/comm/round_work.h"

namespace hocket::comm {
namespace {

void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (to != nullptr && to != from && bytes > 0)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void reduce_range(const Round& round, std::size_t member, std::int64_t first, std::int64_t last,
                  MemoryLists& lists) {
  const PostedCall& any = round.at(0);
  std::int64_t size = bytes(any.dtype);
  auto& [operands, results] = lists;
  while (first < last) {
    std::int64_t end = last;
    int owner = any.kind == Kind::reduce ? any.peer : -1;  // -1: all
    std::int64_t skipped = 0;  // number of elements before the owner's piece
    if (any.kind == Kind::reduce_scatter) {
      std::int64_t piece = any.ranges[member].count / round.participants;
      owner = static_cast<int>(first / piece);
      skipped = owner * piece;
      end = std::min(end, skipped + piece);
    }
    operands.clear();
    results.clear();
    for (int participant = 0; participant < round.participants; ++participant) {
      const PostedCall::Range& r = round.at(participant).ranges[member];
      operands.push_back(r.send + first * size);
      if (r.recv != nullptr && (owner < 0 || participant == owner))
        results.push_back(r.recv + (first - skipped) * size);
    }
    reduce_elements(any.dtype, any.reduce, operands, results, end - first);
    if (any.kind == Kind::reduce)
      for (int participant = 0; participant < round.participants; ++participant)
        if (const auto& r = round.at(participant).ranges[member];
            participant != owner && r.recv != nullptr)
          copy(r.recv + first * size, r.send + first * size, (end - first) * size);
    first = end;
  }
}

/// For broadcast, send and all_gather: copies the operand of one rank to all.
void copy_range(const Round& round, std::size_t member, std::int64_t first, std::int64_t last) {
  const PostedCall& any = round.at(0);
  std::int64_t size = bytes(any.dtype), count = any.ranges[member].count;
  while (first < last) {
    std::int64_t end = last, skipped = 0;
    int source = any.kind == Kind::broadcast ? any.peer : 0;  // a sender is the first participant
    if (any.kind == Kind::all_gather) {
      source = static_cast<int>(first / count);
      skipped = source * count;
      end = std::min(end, skipped + count);
    }
    const std::byte* from = round.at(source).ranges[member].send;
    for (const PostedCall& p : round.posts())
      if (std::byte* to = p.ranges[member].recv)
        copy(to + first * size, from + (first - skipped) * size, (end - first) * size);
    first = end;
  }
}

void exchange_rows(const Round& round, int to) {
  const PostedCall& receiver = round.at(to);
  for (std::size_t m = 0; m < receiver.size; ++m) {
    std::int64_t row = receiver.row(m) * bytes(receiver.dtype);
    std::byte* at = receiver.ranges[m].recv;
    for (const PostedCall& p : round.posts()) {
      auto rows = p.rows_of(m, false);
      std::int64_t first = std::accumulate(rows.begin(), rows.begin() + to, std::int64_t{0});
      std::int64_t length = rows[static_cast<std::size_t>(to)] * row;
      if (length == 0) continue;
      copy(at, p.ranges[m].send + first * row, length);
      at += length;
    }
  }
}

}  // namespace

void exchange(const Round& round, std::int64_t first, std::int64_t last,
              MemoryLists& lists) noexcept {
  const PostedCall& any = round.at(0);
  if (facts(any.kind).result == ResultSize::by_rows) {
    for (std::int64_t to = first; to < last; ++to) exchange_rows(round, static_cast<int>(to));
    return;
  }
  const Collective& c = facts(any.kind);
  for (std::size_t m = 0; m < any.size && first < last; ++m) {
    std::int64_t length = any.ranges[m].count;
    if (c.result == ResultSize::gathered) length *= round.participants;
    std::int64_t end = std::min(last, length);
    if (first < end)
      c.reduces ? reduce_range(round, m, first, end, lists) : copy_range(round, m, first, end);
    first = std::max<std::int64_t>(first - length, 0);
    last -= length;
  }
}

}  // namespace hocket::comm
