#pragma once
// Ranks that are threads of one process. Operands are read in place, without staging buffers.
// Reductions add in the order of the group's ranks, so the bits do not depend on bucketing.

#include <memory>
#include <vector>

#include "hocket/comm/link.h"
#include "hocket/comm/transport.h"

namespace hocket::comm {

struct SharedState;

struct InProcessOptions {
  double deadline = 60;  ///< seconds that a wait takes at most
  std::optional<Link> link = {};
  /// Record the times of transfers, which costs two reads of the clock per transfer. Always on with
  /// a link.
  bool timed = true;
};

/// Hosts all ranks of its world. There are no helper threads: the ranks that test or wait for a
/// call do its arithmetic, each its share, and take over the shares of ranks that are busy
/// elsewhere.
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
