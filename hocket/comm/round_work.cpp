#include "hocket/comm/round_work.h"

#include <algorithm>
#include <thread>

#include "hocket/comm/wakeup.h"

namespace hocket::comm {
namespace {

constexpr std::int64_t small_bytes = 16 << 10;
constexpr std::int64_t chunk_bytes = 1 << 20;  // small enough that ranks share the work evenly
constexpr std::int64_t most_chunks = 32;       // of one participant
constexpr std::int64_t unit_alignment = 64;    // elements: no two chunks write to one cache line

/// The units per part when `units` are divided into `parts`, rounded up to a multiple of
/// `unit_alignment`.
std::int64_t portion(std::int64_t units, int parts) {
  auto runs = static_cast<std::uint64_t>(units + unit_alignment - 1) / unit_alignment;
  auto some = static_cast<std::uint64_t>(parts);
  // A 32-bit division takes a fraction of the time of a 64-bit one.
  std::uint64_t each = runs < 1U << 31 ? static_cast<std::uint32_t>(runs + some - 1) /
                                             static_cast<std::uint32_t>(parts)
                                       : (runs + some - 1) / some;
  return static_cast<std::int64_t>(each) * unit_alignment;
}

}  // namespace

Split split_of(const PostedCall& p) {
  int participants = p.round.participants;
  std::int64_t unit = hocket::bytes(p.dtype), units = 0;
  for (const auto& m : p.members()) units += m.count;
  if (facts(p.kind).result == ResultSize::by_rows)
    return {participants, 1, 1, 1, units * unit <= small_bytes};
  if (facts(p.kind).result == ResultSize::gathered) units *= participants;
  Split split{.units = units, .share = portion(units, participants), .chunks = 1};
  split.chunk = split.share;
  split.small = split.units * unit <= small_bytes;
  if (std::int64_t wanted = split.share * unit / chunk_bytes; wanted > 1) {
    split.chunks = static_cast<std::uint32_t>(std::min(wanted, most_chunks));
    split.chunk = portion(split.share, static_cast<int>(split.chunks));
  }
  return split;
}

bool help(const PostedCall& p, int participant, const std::atomic<bool>& failed, bool timed,
          MemoryLists& lists) {
  PostedCall& owner = p.round.at(participant);
  const Split& split = p.split;
  const std::uint64_t epoch = std::uint64_t{p.epoch} << 32;
  auto finish = [&](std::uint32_t by) {
    std::uint64_t done = owner.done.load();
    while (!owner.done.compare_exchange_weak(done, epoch + counted(done, p.epoch) + by)) {
    }
  };
  bool helped = false;
  std::uint32_t all = due(split, participant);
  for (std::uint64_t word = all == 0 ? 0 : owner.taken.load(); counted(word, p.epoch) < all;) {
    std::uint32_t taken = counted(word, p.epoch);
    if (!owner.taken.compare_exchange_weak(word, epoch + taken + 1)) continue;
    // Must come after the chunk is marked as taken: see withdraw().
    if (failed.load()) {
      finish(PostedCall::dropped);
      return false;
    }
    std::int64_t begin = participant * split.share,
                 end = std::min(begin + split.share, split.units);
    std::int64_t first = begin + taken * split.chunk, last = std::min(first + split.chunk, end);
    if (first < last) exchange(p.round, first, last, lists);
    if (timed) owner.done_at.store(now(), std::memory_order_relaxed);
    if (all == 1)  // the only chunk: no other rank writes this word
      owner.done.store(epoch + 1, std::memory_order_release);
    else
      finish(1);
    helped = true;
    word = epoch + taken + 1;
  }
  return helped;
}

void withdraw(const PostedCall& p) {
  // A rank that takes a chunk after `taken` is read here sees the failure and drops the chunk.
  for (int participant = 0; participant < p.round.participants; ++participant) {
    PostedCall& other = p.round.at(participant);
    if (!has_posted(p, participant)) continue;  // none of its chunks can have been taken
    auto over = [&] {
      std::uint32_t done = counted(other.done.load(), p.epoch);
      return done % PostedCall::dropped + done / PostedCall::dropped;
    };
    std::uint32_t taken = counted(other.taken.load(), p.epoch);
    while (over() < taken) std::this_thread::yield();
  }
}

}  // namespace hocket::comm
