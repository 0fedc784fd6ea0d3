#pragma once
// A transport that hosts some ranks of a world, as a process of several does: parts that are joined
// over one InProcess.

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"

namespace hocket::comm {

class Part final : public Transport {
 public:
  Part(std::shared_ptr<InProcess> whole, std::vector<int> hosted)
      : whole_(std::move(whole)), hosted_(std::move(hosted)) {}

  int ranks() const override { return whole_->ranks(); }
  std::span<const int> hosted() const override { return hosted_; }
  std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                      std::span<const int> ranks) override {
    require_hosted(rank);
    return whole_->group(rank, name, ranks);
  }
  void fail(int rank, const std::exception_ptr& cause) override {
    require_hosted(rank);
    whole_->fail(rank, cause);
  }
  std::optional<Failure> failure() const override { return whole_->failure(); }
  std::string doing(int rank) const override { return whole_->doing(rank); }
  /// The last part that holds the whole closes it.
  void close() override {
    if (whole_.use_count() == 1) whole_->close();
  }

 private:
  void require_hosted(int rank) const {
    for (int hosted : hosted_)
      if (hosted == rank) return;
    internal_fail("rank {} is not hosted here", rank);
  }

  std::shared_ptr<InProcess> whole_;
  std::vector<int> hosted_;
};

}  // namespace hocket::comm
