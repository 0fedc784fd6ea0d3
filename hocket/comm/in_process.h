#pragma once
// Ranks that are threads of one process. Nothing is staged: operands are read where they lie, and
// reductions run in the order of the group's ranks, so that any bucketing gives the same bits.

#include <memory>
#include <vector>

#include "hocket/comm/link.h"
#include "hocket/comm/transport.h"

namespace hocket::comm {

struct SharedState;

struct InProcessOptions {
  double deadline = 60;  ///< seconds that a wait takes at most
  std::optional<Link> link = {};
  /// Transfers have their times, which costs two looks at the clock for each. Always with a link.
  bool timed = true;
};

/// Hosts all ranks of its world. There is no helper thread: what a call has to compute is done by
/// those who test or wait for it, each a share, and none needs another's share to get on.
class InProcess final : public Transport {
 public:
  explicit InProcess(int ranks, InProcessOptions options = {});

  int ranks() const override { return static_cast<int>(hosted_.size()); }
  std::span<const int> hosted() const override { return hosted_; }
  std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                      std::span<const int> ranks) override;
  void fail(int rank, const std::exception_ptr& cause) override;
  std::optional<Failure> failure() const override;
  std::string doing(int rank) const override;
  void close() override;

 private:
  std::shared_ptr<SharedState> shared_;
  std::vector<int> hosted_;
};

}  // namespace hocket::comm
