#include "hocket/comm/world.h"

#include <fmt/core.h>

#include <thread>

namespace hocket::comm {

void Rank::append(Post& post) {
  post.before = last;
  post.after = nullptr;
  (last != nullptr ? last->after : first) = &post;
  last = &post;
}

void Rank::remove(Post& post) {
  (post.before != nullptr ? post.before->after : first) = post.after;
  (post.after != nullptr ? post.after->before : last) = post.before;
}

void Rank::close_all() {
  for (Post* p = first; p != nullptr; p = p->after) p->round->close();
}

Group::Group(std::string called, std::vector<int> of)
    : name(std::move(called)),
      ranks(std::move(of)),
      lane(ranks),
      gone(std::make_unique<std::atomic<bool>[]>(ranks.size())) {}

Lane& Group::pair(int from, int to) {
  std::lock_guard lock(mutex_);
  auto& found = pairs_[{from, to}];
  if (!found)
    found = std::make_unique<Lane>(
        std::vector{ranks[static_cast<std::size_t>(from)], ranks[static_cast<std::size_t>(to)]});
  return *found;
}

World::World(int count, InProcessOptions given)
    : options(given),
      // With more ranks than cores the one that spins may hold the core that the other needs.
      spin(static_cast<unsigned>(count) <= std::thread::hardware_concurrency() ? 20e-6 : 1e-6) {
  for (int i = 0; i < count; ++i) ranks.push_back(std::make_unique<Rank>());
}

std::shared_ptr<Group> World::group(const std::string& name, const std::vector<int>& of) {
  std::lock_guard lock(mutex_);
  auto& found = groups_[{name, of}];
  if (!found) found = std::make_shared<Group>(name, of);
  return found;
}

void World::fail(int rank, const std::string& cause) {
  {
    std::lock_guard lock(mutex_);
    if (!first_failed_) {
      first_failed_ = rank;
      failure_ = fmt::format("rank {} failed: {}", rank, cause);
    }
    failed.store(true);
  }
  for (auto& r : ranks) r->bell.ring();
}

std::string World::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<int> World::first_failed() {
  std::lock_guard lock(mutex_);
  return first_failed_;
}

void World::ring(const Lane& lane, int but) {
  for (std::size_t i = 0; i < lane.ranks.size(); ++i)
    if (static_cast<int>(i) != but) ranks[static_cast<std::size_t>(lane.ranks[i])]->bell.ring();
}

void World::ring(const Group& group) { ring(group.lane, -1); }

}  // namespace hocket::comm
