#pragma once
// One meeting of the ranks of a lane: who is here, what work that makes, and what of it is done.

#include <string>

#include "hocket/comm/post.h"

namespace hocket::comm {

struct Lane;
struct Segment;

/// Every rank follows the round by itself, from the flags of all seats: there is no word that two
/// ranks write while things go well.
struct Round {
  Lane* lane = nullptr;
  Segment* segment = nullptr;
  std::span<Post> posts = {};  // by seat

  int seats() const { return static_cast<int>(posts.size()); }
  Post& at(int seat) const { return posts[static_cast<std::size_t>(seat)]; }
};

inline bool is_here(const Post& p, int seat) {
  return p.round->at(seat).here.load(std::memory_order_acquire) == p.lap;
}

/// Whether all seats are taken, as seen from the post of one; amortised O(1).
inline bool all_here(Post& p) {
  while (p.seen < p.round->seats() && is_here(p, p.seen)) ++p.seen;
  return p.seen == p.round->seats();
}

/// How to cut the work of a round in which all are here and agree.
Split split_of(const Round& round);
/// Chunks in the share of `seat`: all or, when its share is empty, none.
inline std::uint32_t due(const Split& split, int seat) {
  return seat * split.share < split.units ? split.chunks : 0;
}
/// Whether all work is done, as seen from the post of one that has met; amortised O(1).
inline bool complete(Post& p) {
  while (p.finished < p.round->seats() &&
         p.round->at(p.finished).done.load(std::memory_order_acquire) == due(p.split, p.finished))
    ++p.finished;
  return p.finished == p.round->seats();
}

/// Takes and does the chunks of a seat's share that nobody has taken; true when there were any.
/// Stops when `failed`, after which no memory of a rank that has withdrawn is touched.
bool help(const Post& p, int seat, const std::atomic<bool>& failed, bool timed);
/// `failed` is set: returns when nobody reads or writes what the rank of `p` brought. Bounded by
/// the time of one chunk.
void withdraw(const Post& p);

/// What the call of `p` and that of `seat`, which is here, disagree on; or "".
std::string disagreement(const Post& p, int seat);
/// `%h = all_reduce on channel 3 of group "dp"`.
std::string title(const Post& p);
std::string title(const Lane& lane, Kind kind, std::int64_t channel, std::string_view name);

/// Does the units of work from `first` to `last`. Units are the elements of the operands, member
/// after member; of the results where kind is all_gather; receiving ranks where it is all_to_all.
void exchange(const Round& round, std::int64_t first, std::int64_t last);

}  // namespace hocket::comm
