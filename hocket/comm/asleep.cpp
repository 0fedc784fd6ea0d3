// Who sleeps in which wait. A sleeper starts nothing before it has woken up, and for that it needs
// the mutex: so what is found under the mutex stays true, and a circle is a deadlock for certain.

#include <fmt/core.h>

#include "hocket/comm/world.h"

namespace hocket::comm {

std::string World::fall_asleep(int rank, const Post& post) {
  std::lock_guard lock(mutex_);
  auto of = [&](int r) -> Rank& { return *ranks[static_cast<std::size_t>(r)]; };
  of(rank).sleeps_in = &post;
  std::vector<bool> seen(ranks.size());
  std::vector<int> path;
  if (!find_circle(rank, rank, seen, path)) return "";
  std::string text = "ranks wait for each other for ever: ";
  for (std::size_t i = 0; i < path.size(); ++i)
    text += fmt::format("{}rank {} for rank {} in {}", i == 0 ? "" : ", ", path[i],
                        path[(i + 1) % path.size()], title(*of(path[i]).sleeps_in));
  return text;
}

/// Whether a rank that `from` waits for is `to`, or sleeps and waits for it in turn.
bool World::find_circle(int from, int to, std::vector<bool>& seen, std::vector<int>& path) const {
  const Post* post = ranks[static_cast<std::size_t>(from)]->sleeps_in;
  if (post == nullptr) return false;
  path.push_back(from);
  for (int seat = 0; seat < post->round.seats; ++seat) {
    int next = post->round.lane->ranks[static_cast<std::size_t>(seat)];
    if (is_here(*post, seat)) continue;
    if (next == to) return true;
    if (seen[static_cast<std::size_t>(next)]) continue;
    seen[static_cast<std::size_t>(next)] = true;
    if (find_circle(next, to, seen, path)) return true;
  }
  path.pop_back();
  return false;
}

void World::wake_up(int rank) {
  std::lock_guard lock(mutex_);
  ranks[static_cast<std::size_t>(rank)]->sleeps_in = nullptr;
}

/// Of a rank that does not sleep.
std::string World::idle_text(const Rank& rank) const {
  if (!options.timed) return "is in no long wait";  // nobody noted whether it has started anything
  double at = rank.started_at.load(std::memory_order_relaxed);
  return at == 0 ? "has not started anything"
                 : fmt::format("has not started anything for {:.2g} s", now() - at);
}

std::string World::doing(int rank) {
  std::lock_guard lock(mutex_);
  std::string text;
  // From one sleeper to the next; more steps than ranks would be a circle.
  for (std::size_t step = 0; step < ranks.size(); ++step) {
    const Rank& r = *ranks[static_cast<std::size_t>(rank)];
    if (r.sleeps_in == nullptr) return text + idle_text(r);
    const Post& p = *r.sleeps_in;
    text += "waits in " + title(p);
    int seat = 0;
    while (seat < p.round.seats && is_here(p, seat)) ++seat;
    if (seat == p.round.seats) return text;
    rank = p.round.lane->ranks[static_cast<std::size_t>(seat)];
    text += fmt::format(" for rank {}, which ", rank);
  }
  return text + "waits";
}

}  // namespace hocket::comm
