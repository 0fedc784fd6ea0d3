#pragma once
// What the ranks of one process share.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hocket/comm/bell.h"
#include "hocket/comm/in_process.h"
#include "hocket/comm/lane.h"

namespace hocket::comm {

/// A rank. Others touch only its bell.
struct Rank {
  Bell bell;
  Post* first = nullptr;  // its calls in flight, in all groups, as started
  Post* last = nullptr;
  double link_free_at = 0;

  void append(Post& post);
  void remove(Post& post);
  /// Nobody reads what this rank brought any more.
  void close_all();
};

/// A group: one lane for all its ranks, and one for each pair that sends.
struct Group {
  Group(std::string name, std::vector<int> ranks);

  std::string name;
  std::vector<int> ranks;
  Lane lane;
  std::unique_ptr<std::atomic<bool>[]> gone;  // by index: has destroyed its end
  std::atomic<bool> some_gone{false};

  Lane& pair(int from, int to);

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::unique_ptr<Lane>> pairs_;
};

struct World {
  World(int count, InProcessOptions given);

  InProcessOptions options;
  double spin;  // seconds before a rank sleeps
  std::vector<std::unique_ptr<Rank>> ranks;
  std::atomic<bool> failed{false};

  std::shared_ptr<Group> group(const std::string& name, const std::vector<int>& of);
  void fail(int rank, const std::string& cause);
  /// `rank 1 failed: ...`.
  std::string failure();
  std::optional<int> first_failed();
  void ring(const Lane& lane, int but);
  void ring(const Group& group);

 private:
  std::mutex mutex_;
  std::string failure_;
  std::optional<int> first_failed_;
  std::map<std::pair<std::string, std::vector<int>>, std::shared_ptr<Group>> groups_;
};

}  // namespace hocket::comm
