#pragma once
// Random values for a program without recorded ones.

#include <cstdint>

#include "hocket/driver/shards.h"

namespace hocket {

/// State, and a batch for each iteration. Each element depends only on the seed, the input and its
/// index. Integers are 0 or 1; parameters and fed floats are in [-0.1, 0.1), optimizer state and
/// buffers in [0.5, 1). State is equal on all ranks, or a shard of an equal value; fed inputs also
/// depend on rank and iteration.
class RandomInputs {
 public:
  /// The program must outlive this.
  RandomInputs(const Program& program, std::uint64_t seed, int ranks);
  InputTables state() const;
  InputTables batch(std::int64_t iteration) const;

 private:
  /// The stream of an input of a graph.
  std::uint64_t stream(std::size_t graph, std::size_t input) const {
    return streams_[graph][input];
  }

  const Program& program_;
  std::uint64_t seed_;
  int ranks_;
  // One stream per input for state; after those, one per input, rank and iteration. Forwarded state
  // has none, so a rotated body gets the same values as the original.
  std::vector<std::vector<std::uint64_t>> streams_;
  std::uint64_t inputs_ = 0;  // inputs that have a stream
};

}  // namespace hocket
