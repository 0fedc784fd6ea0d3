#pragma once
// What happens in a round: who is here, what work that makes, and what of it is done.

#include <string>

#include "hocket/comm/posted_call.h"

namespace hocket::comm {

inline bool has_posted(const PostedCall& p, int participant) {
  return p.round.at(participant).here.load(std::memory_order_acquire) == p.epoch;
}

/// Whether all participants are taken, as seen from the post of one; amortised O(1).
inline bool all_posted(PostedCall& p) {
  while (p.seen < p.round.participants && has_posted(p, p.seen)) ++p.seen;
  return p.seen == p.round.participants;
}

/// How to cut the work of the round of `p`, if all agree with it.
Split split_of(const PostedCall& p);
/// Chunks in the share of `participant`: all or, when its share is empty, none.
inline std::uint32_t due(const Split& split, int participant) {
  return participant * split.share < split.units ? split.chunks : 0;
}
/// What `word` counts in this epoch, see PostedCall::taken.
inline std::uint32_t counted(std::uint64_t word, std::uint32_t epoch) {
  return word >> 32 == epoch ? static_cast<std::uint32_t>(word) : 0;
}
/// Whether all work is done, as seen from the post of one that has met; amortised O(1).
inline bool complete(PostedCall& p) {
  auto over = [&](int participant) {
    std::uint64_t done = p.round.at(participant).done.load(std::memory_order_acquire);
    return counted(done, p.epoch) == due(p.split, participant);
  };
  while (p.finished < p.round.participants && over(p.finished)) ++p.finished;
  return p.finished == p.round.participants;
}

/// Takes and does the chunks of a participant's share that nobody has taken; true when there were
/// any. Stops when `failed`, after which no memory of a rank that has withdrawn is touched. A chunk
/// that throws counts as dropped: the round is never complete.
bool help(const PostedCall& p, int participant, const std::atomic<bool>& failed, bool timed);
/// `failed` is set: returns when nobody reads or writes what the rank of `p` brought. Bounded by
/// the time of one chunk.
void withdraw(const PostedCall& p);

/// Whether two calls are alike in all that could matter; false where one has to look closer.
inline bool clearly_agree(const CallHead& a, const CallHead& b) {
  return a.kind == b.kind && a.reduce == b.reduce && a.dtype == b.dtype && a.peer == b.peer &&
         a.channel == b.channel && a.size == 1 && b.size == 1 && a.only.count == b.only.count &&
         a.kind != Kind::all_to_all;
}
/// What the call of `p` and that of `participant`, which is here, disagree on; or "".
std::string disagreement(const PostedCall& p, int participant);
/// `%h = all_reduce on channel 3 of group "dp"`.
std::string title(const PostedCall& p);
std::string title(const RoundSequence& sequence, Kind kind, std::int64_t channel,
                  std::string_view name);

/// Does the units of work from `first` to `last`. Units are the elements of the operands, member
/// after member; of the results where kind is all_gather; receiving ranks where it is all_to_all.
void exchange(const Round& round, std::int64_t first, std::int64_t last);

}  // namespace hocket::comm
