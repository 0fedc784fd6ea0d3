// Deadlock detection: which rank is in a long wait, and for whom. A rank in a long wait takes the
// mutex before it can start another call. So a cycle that is found under the mutex cannot dissolve,
// and is a deadlock.

#include <fmt/core.h>

#include "hocket/comm/shared_state.h"

namespace hocket::comm {

std::string SharedState::begin_long_wait(int rank, const PostedCall& post) {
  std::lock_guard lock(mutex_);
  auto of = [&](int r) -> RankState& { return *ranks[static_cast<std::size_t>(r)]; };
  of(rank).waits_in = &post;
  seen_.assign(ranks.size(), false);
  path_.clear();
  if (!find_cycle(rank, rank)) return "";
  std::string text = "ranks wait for each other for ever: ";
  for (std::size_t i = 0; i < path_.size(); ++i)
    text += fmt::format("{}rank {} for rank {} in {}", i == 0 ? "" : ", ", path_[i],
                        path_[(i + 1) % path_.size()], title(*of(path_[i]).waits_in));
  return text;
}

/// True if `from` waits, directly or through other ranks, for `to`.
bool SharedState::find_cycle(int from, int to) {
  const PostedCall* post = ranks[static_cast<std::size_t>(from)]->waits_in;
  if (post == nullptr) return false;
  path_.push_back(from);
  for (int participant = 0; participant < post->round.participants; ++participant) {
    int next = post->round.sequence->ranks[static_cast<std::size_t>(participant)];
    if (has_posted(*post, participant)) continue;
    if (next == to) return true;
    if (seen_[static_cast<std::size_t>(next)]) continue;
    seen_[static_cast<std::size_t>(next)] = true;
    if (find_cycle(next, to)) return true;
  }
  path_.pop_back();
  return false;
}

void SharedState::end_long_wait(int rank) {
  std::lock_guard lock(mutex_);
  ranks[static_cast<std::size_t>(rank)]->waits_in = nullptr;
}

/// Describes a rank that is in no long wait.
std::string SharedState::idle_text(const RankState& rank) const {
  if (!options.timed) return "is in no long wait";  // without times, starts are not recorded
  double at = rank.started_at.load(std::memory_order_relaxed);
  return at == 0 ? "has not started anything"
                 : fmt::format("has not started anything for {:.2g} s", now() - at);
}

std::string SharedState::doing(int rank) {
  std::lock_guard lock(mutex_);
  std::string text;
  // Follows the chain of waiting ranks. More steps than ranks would mean a cycle.
  for (std::size_t step = 0; step < ranks.size(); ++step) {
    const RankState& r = *ranks[static_cast<std::size_t>(rank)];
    if (r.waits_in == nullptr) return text + idle_text(r);
    const PostedCall& p = *r.waits_in;
    text += "waits in " + title(p);
    int participant = 0;
    while (participant < p.round.participants && has_posted(p, participant)) ++participant;
    if (participant == p.round.participants) return text;
    rank = p.round.sequence->ranks[static_cast<std::size_t>(participant)];
    text += fmt::format(" for rank {}, which ", rank);
  }
  return text + "waits";
}

}  // namespace hocket::comm
