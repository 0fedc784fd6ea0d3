#pragma once
// Ranks that are threads of one process. Nothing is staged: operands are read where they lie, and
// reductions run in the order of the group's ranks, so that any bucketing gives the same bits.

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hocket/comm/link.h"
#include "hocket/comm/process_group.h"

namespace hocket::comm {

struct World;

struct InProcessOptions {
  double deadline = 60;  ///< seconds that a wait takes at most
  std::optional<Link> link = {};
  /// Transfers have their times, which costs two looks at the clock for each. Always with a link.
  bool timed = false;
};

/// The ranks of one process. There is no helper thread: what a call has to compute is done by those
/// who test or wait for it, each a share, and none needs another's share to get on.
///
/// A rank fails when fail() says so, when one of its waits throws, or when one of its groups is
/// destroyed with calls in flight. Then every wait, test and start of all other ranks throws the
/// first cause.
class InProcess {
 public:
  explicit InProcess(int ranks, InProcessOptions options = {});

  int ranks() const;
  /// The end of `rank` in the group of these ranks; one group for all that give the same name and
  /// list. Any thread may ask; then it belongs to the thread that is this rank.
  std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                      std::span<const int> ranks);
  /// The group "world" of all ranks.
  std::unique_ptr<ProcessGroup> all(int rank);
  /// From any thread. The first one counts.
  void fail(int rank, const std::exception_ptr& cause);
  /// What went wrong first: `rank` is whose failure it was, none when calls of ranks do not fit
  /// together.
  struct Failure {
    std::optional<int> rank;
    std::string message;
  };
  std::optional<Failure> failure() const;
  /// What a rank that others wait for does, as their messages say it: `waits in ... for rank 2,
  /// which ...` once it has waited for long. From any thread.
  std::string doing(int rank) const;

 private:
  std::shared_ptr<World> world_;
};

}  // namespace hocket::comm
