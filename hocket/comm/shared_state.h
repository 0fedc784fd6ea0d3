#pragma once
// The state shared by the ranks of one process.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hocket/comm/in_process.h"
#include "hocket/comm/round_sequence.h"
#include "hocket/comm/wakeup.h"

namespace hocket::comm {

/// The state of one rank. Other ranks use only its wakeup, `started_at`, and what the mutex of the
/// shared state guards.
struct RankState {
  Wakeup wakeup;
  List<&PostedCall::in_flight> in_flight;     // calls in flight in all groups, in the order started
  List<&PostedCall::unsettled> through_link;  // with a link: calls without a time on the link yet
  double link_free_at = 0;
  std::atomic<double> started_at{0};     // start of its latest call, if times are recorded
  const PostedCall* waits_in = nullptr;  // guarded by the mutex: the call of its long wait
};

/// A group: one sequence of rounds for all its ranks, and one for each pair that sends.
struct GroupState {
  GroupState(std::string name, std::vector<int> ranks);

  std::string name;
  std::vector<int> ranks;
  RoundSequence sequence;
  std::unique_ptr<std::atomic<bool>[]> gone;  // by index: the rank has destroyed its end
  std::atomic<bool> some_gone{false};

  RoundSequence& pair(int from, int to);

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::unique_ptr<RoundSequence>> pairs_;
};

struct SharedState {
  SharedState(int count, InProcessOptions given);

  InProcessOptions options;
  Fence fence;
  double spin;      // seconds before a rank sleeps
  double patience;  // seconds before a rank takes over a small share of another
  std::vector<std::unique_ptr<RankState>> ranks;
  std::atomic<bool> failed{false};
  std::atomic<int> ends{0};  // process groups in existence
  std::atomic<bool> closed{false};

  std::shared_ptr<GroupState> group(const std::string& name, const std::vector<int>& of);
  void notify(const RoundSequence& sequence, int but) {
    fence.before_notify();
    for (std::size_t i = 0; i < sequence.ranks.size(); ++i)
      if (static_cast<int>(i) != but)
        ranks[static_cast<std::size_t>(sequence.ranks[i])]->wakeup.notify();
  }

  /// Records the first failure, described as `rank 1 failed: ...`; ignores later ones.
  void fail(int rank, const std::string& cause);
  void fail_all(const std::string& cause);
  std::string failure();
  /// The rank of the first failure; none if calls of several ranks disagree.
  std::optional<int> first_failed();

  /// Records that `rank` waits for `post` until end_long_wait(). Returns a description of the
  /// deadlock if this closes a cycle of waiting ranks, otherwise "".
  std::string begin_long_wait(int rank, const PostedCall& post);
  void end_long_wait(int rank);
  /// `waits in ... for rank 2, which has not started anything for 3 s`; where calls are not timed,
  /// `which is in no long wait`.
  std::string doing(int rank);

 private:
  void fail_with(std::optional<int> rank, const std::string& message);
  std::string idle_text(const RankState& rank) const;
  bool find_cycle(int from, int to);

  std::mutex mutex_;
  std::string failure_;
  std::optional<int> first_failed_;
  std::map<std::pair<std::string, std::vector<int>>, std::shared_ptr<GroupState>> groups_;
  std::vector<bool> seen_;  // of find_cycle
  std::vector<int> path_;
};

}  // namespace hocket::comm
