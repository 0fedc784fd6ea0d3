#include "hocket/comm/round.h"

#include <algorithm>
#include <thread>

#include "hocket/comm/bell.h"

namespace hocket::comm {
namespace {

constexpr std::int64_t small_bytes = 16 << 10;
constexpr std::int64_t chunk_bytes = 1 << 20;  // so that ranks share evenly where they can
constexpr std::int64_t most_chunks = 32;       // of one seat
constexpr std::int64_t unit_alignment = 64;    // elements: no two chunks write to one cache line

std::int64_t portion(std::int64_t units, std::int64_t parts, std::int64_t alignment) {
  std::int64_t step = parts * alignment;
  return (units + step - 1) / step * alignment;
}

}  // namespace

Split split_of(const Round& round) {
  const Post& any = round.at(0);
  Split split;
  if (any.kind == Kind::all_to_all) {  // a share is what one rank gets
    std::int64_t most = 0;
    for (const Post& p : round.posts) most = std::max(most, p.bytes());
    return {most > 0 ? round.seats() : 0, 1, 1, 1, most <= small_bytes};
  }
  for (const auto& m : any.members()) split.units += m.count;
  if (any.kind == Kind::all_gather) split.units *= round.seats();
  split.share = split.chunk = portion(split.units, round.seats(), unit_alignment);
  split.chunks = 1;
  std::int64_t unit = hocket::bytes(any.dtype);
  split.small = split.units * unit <= small_bytes;
  if (std::int64_t wanted = split.share * unit / chunk_bytes; wanted > 1) {
    split.chunks = static_cast<std::uint32_t>(std::min(wanted, most_chunks));
    split.chunk = portion(split.share, split.chunks, unit_alignment);
  }
  return split;
}

bool help(const Post& p, int seat, const std::atomic<bool>& failed, bool timed) {
  Post& owner = p.round->at(seat);
  const Split& split = p.split;
  bool helped = false;
  std::uint32_t all = due(split, seat);
  for (std::uint32_t taken = all == 0 ? 0 : owner.taken.load(); taken < all;) {
    if (!owner.taken.compare_exchange_weak(taken, taken + 1)) continue;
    // After the chunk is known to be taken: see withdraw().
    if (failed.load()) {
      owner.done.fetch_add(Post::dropped);
      return false;
    }
    std::int64_t begin = seat * split.share, end = std::min(begin + split.share, split.units);
    std::int64_t first = begin + taken * split.chunk, last = std::min(first + split.chunk, end);
    if (first < last) exchange(*p.round, first, last);
    if (timed) owner.done_at.store(now(), std::memory_order_relaxed);
    if (all == 1)  // who took the only one writes alone
      owner.done.store(1, std::memory_order_release);
    else
      owner.done.fetch_add(1);
    helped = true;
    ++taken;
  }
  return helped;
}

void withdraw(const Post& p) {
  // Whoever takes a chunk after this has looked sees the failure, and leaves the chunk alone.
  for (int seat = 0; seat < p.round->seats(); ++seat) {
    Post& other = p.round->at(seat);
    if (!is_here(p, seat)) continue;  // it has taken nothing, and nobody has taken from it
    auto over = [&] {
      std::uint32_t done = other.done.load();
      return done % Post::dropped + done / Post::dropped;
    };
    for (std::uint32_t taken = other.taken.load(); over() < taken;) std::this_thread::yield();
  }
}

}  // namespace hocket::comm
