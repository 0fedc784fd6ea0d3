#pragma once
// What comes out of a run, iteration by iteration.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/driver/digest.h"
#include "hocket/ir/tensor.h"
#include "hocket/runtime/loop.h"

namespace hocket {

/// An output of an iteration on a rank.
struct OutputReport {
  Type type;
  Tensor value;        ///< kept for the first iterations, later only where it is one number
  std::string digest;  ///< of what is more than one number
};

/// By iteration, rank and output.
using OutputReports = std::vector<std::vector<std::vector<OutputReport>>>;

/// Takes outputs as they come, in any order, and lets go of large ones once they are in the digest:
/// a run of many iterations keeps no more than some numbers of each.
class OutputLog {
 public:
  /// Values of the first `whole` iterations are kept whatever their size.
  OutputLog(const Program& program, int ranks, std::int64_t whole);
  /// One more iteration begins.
  void begin();
  void add(std::vector<Loop::Produced> produced);

  /// Of all iterations up to the first of which an output has not come.
  Digest& digest() { return digest_; }
  OutputReports take() { return std::move(reports_); }

 private:
  void close(std::size_t iteration);

  std::vector<std::size_t> outputs_;  // by rank: how many
  std::size_t per_iteration_ = 0;     // of all ranks
  std::size_t whole_;
  OutputReports reports_;
  std::vector<std::size_t> came_;  // by iteration
  std::size_t closed_ = 0;         // iterations
  Digest digest_;
};

}  // namespace hocket
