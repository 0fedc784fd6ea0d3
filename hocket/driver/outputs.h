#pragma once
// The outputs of a run, by iteration.

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
  Tensor value;        ///< kept for the first iterations, later only if it is one number
  std::string digest;  ///< of an output of more than one number
};

/// By iteration, rank and output.
using OutputReports = std::vector<std::vector<std::vector<OutputReport>>>;

/// Takes outputs in any order, and frees large ones once they are in the digest, so that a long run
/// keeps only a few numbers per iteration.
class OutputLog {
 public:
  /// Values of the first `whole` iterations are kept, of any size.
  OutputLog(const Program& program, int ranks, std::int64_t whole);
  /// Begins another iteration.
  void begin();
  void add(std::span<const Produced> produced);

  /// Covers all iterations before the first one with a missing output.
  Digest& digest() { return digest_; }
  OutputReports take() { return std::move(reports_); }

 private:
  void close(std::size_t iteration);

  std::vector<std::size_t> outputs_;  // by rank: their number
  std::size_t per_iteration_ = 0;     // of all ranks
  std::size_t whole_;
  OutputReports reports_;
  std::vector<std::size_t> came_;  // by iteration: outputs received
  std::size_t closed_ = 0;         // number of complete iterations at the front
  Digest digest_;
};

}  // namespace hocket
