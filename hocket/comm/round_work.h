#pragma once
// The progress of a round: which participants have posted, and how the work is divided and done.

#include <string>
#include <vector>

#include "hocket/comm/posted_call.h"

namespace hocket::comm {

inline bool has_posted(const PostedCall& p, int participant) {
  return p.round.at(participant).here.load(std::memory_order_acquire) == p.epoch;
}

/// True if all participants have posted, as seen by the rank of `p`; amortised O(1).
inline bool all_posted(PostedCall& p) {
  while (p.seen < p.round.participants && has_posted(p, p.seen)) ++p.seen;
  return p.seen == p.round.participants;
}

/// The division of the work of this round, given that all calls agree with `p`.
Split split_of(const PostedCall& p);
/// Number of chunks in the share of `participant`; 0 for an empty share.
inline std::uint32_t due(const Split& split, int participant) {
  return participant * split.share < split.units ? split.chunks : 0;
}
/// The count in `word` if it is of this epoch, else 0; see PostedCall::taken.
inline std::uint32_t counted(std::uint64_t word, std::uint32_t epoch) {
  return word >> 32 == epoch ? static_cast<std::uint32_t>(word) : 0;
}
/// True if all work is done, as seen by the rank of `p`, whose `met` is true; amortised O(1).
inline bool complete(PostedCall& p) {
  auto over = [&](int participant) {
    std::uint64_t done = p.round.at(participant).done.load(std::memory_order_acquire);
    return counted(done, p.epoch) == due(p.split, participant);
  };
  while (p.finished < p.round.participants && over(p.finished)) ++p.finished;
  return p.finished == p.round.participants;
}

/// Where a reduction reads and writes, by participant: kept by the rank that works, so that nothing
/// is allocated for a piece of work.
struct MemoryLists {
  explicit MemoryLists(std::size_t participants) {
    operands.reserve(participants);
    results.reserve(participants);
  }
  std::vector<const void*> operands;
  std::vector<void*> results;
};

/// Does all chunks of a participant's share that no rank has taken. Returns true if there were any.
/// Stops once `failed` is set, so that no memory of a rank that has withdrawn is touched; the round
/// never completes then. `lists` has room for the participants.
bool help(const PostedCall& p, int participant, const std::atomic<bool>& failed, bool timed,
          MemoryLists& lists);
/// Called after `failed` is set: returns when no other rank accesses the memory of the rank of `p`
/// any more, after at most the time of one chunk.
void withdraw(const PostedCall& p);

/// A fast test whether two calls, and all before them, agree; false means that disagreement() has
/// to decide. Rows of an all_to_all are no part of the hash, because they differ by rank.
inline bool clearly_agree(const CallHead& a, const CallHead& b) {
  return a.order == b.order && a.kind != Kind::all_to_all;
}
/// Describes how the call of `p` and the posted call of `participant`, or calls before them,
/// disagree; "" if they agree.
std::string disagreement(const PostedCall& p, int participant);
/// `%h = all_reduce on channel 3 of group "dp"`.
std::string title(const PostedCall& p);
std::string title(const RoundSequence& sequence, Kind kind, std::int64_t channel,
                  std::string_view name);

/// Does the units of work in [first, last). A unit is an element of an operand (members follow each
/// other); in an all_gather, an element of a result; in an all_to_all, a receiving rank.
/// Must not fail: others may be at work on the same call.
void exchange(const Round& round, std::int64_t first, std::int64_t last,
              MemoryLists& lists) noexcept;

}  // namespace hocket::comm
