#include "hocket/comm/shared_state.h"

#include <fmt/core.h>

#include <numeric>
#include <thread>

namespace hocket::comm {
namespace {

std::vector<int> first_numbers(std::size_t count) {
  std::vector<int> list(count);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

}  // namespace

GroupState::GroupState(std::string called, std::vector<int> of)
    : name(std::move(called)),
      ranks(std::move(of)),
      sequence(name, ranks, first_numbers(ranks.size())),
      gone(std::make_unique<std::atomic<bool>[]>(ranks.size())) {}

RoundSequence& GroupState::pair(int from, int to) {
  std::lock_guard lock(mutex_);
  auto& found = pairs_[{from, to}];
  if (!found) found = std::make_unique<RoundSequence>(name, ranks, std::vector{from, to});
  return *found;
}

SharedState::SharedState(int count, InProcessOptions given) : options(given) {
  // With more ranks than cores, a rank that spins may hold the core that the awaited rank needs.
  bool crowded = static_cast<unsigned>(count) > std::thread::hardware_concurrency();
  spin = crowded ? 1e-6 : 20e-6;
  patience = crowded ? 0 : 2e-6;
  for (int i = 0; i < count; ++i) ranks.push_back(std::make_unique<RankState>());
  seen_.reserve(ranks.size());
  path_.reserve(ranks.size());
}

std::shared_ptr<GroupState> SharedState::group(const std::string& name,
                                               const std::vector<int>& of) {
  std::lock_guard lock(mutex_);
  auto& found = groups_[{name, of}];
  if (!found) found = std::make_shared<GroupState>(name, of);
  return found;
}

void SharedState::fail(int rank, const std::string& cause) {
  fail_with(rank, fmt::format("rank {} failed: {}", rank, cause));
}

void SharedState::fail_all(const std::string& cause) { fail_with({}, cause); }

void SharedState::fail_with(std::optional<int> rank, const std::string& message) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) {
      failure_ = message;
      first_failed_ = rank;
    }
    failed.store(true);
  }
  fence.before_notify();
  for (auto& r : ranks) r->wakeup.notify();
}

std::string SharedState::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<int> SharedState::first_failed() {
  std::lock_guard lock(mutex_);
  return first_failed_;
}

}  // namespace hocket::comm
