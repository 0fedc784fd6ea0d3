#pragma once
// Values for a graph that came without any.

#include <cstdint>

#include "hocket/driver/shards.h"

namespace hocket {

/// State, and a batch for each iteration, each element a function of the seed, the input and its
/// place alone. Integers are 0 or 1; parameters and fed floats lie in [-0.1, 0.1), optimizer state
/// and buffers in [0.5, 1). State is equal on all ranks, or a piece of what would be; what is fed
/// differs by rank and iteration.
class RandomInputs {
 public:
  /// The program must outlive this.
  RandomInputs(const Program& program, std::uint64_t seed, int ranks);
  InputTables state() const;
  InputTables batch(std::int64_t iteration) const;

 private:
  /// Of an input of a graph of the program.
  std::uint64_t stream(std::size_t graph, std::size_t input) const {
    return streams_[graph][input];
  }

  const Program& program_;
  std::uint64_t seed_;
  int ranks_;
  // One stream per input for state; behind those, one per input, rank and iteration. What is
  // carried between iterations has none: a rotated body gets the values of the body it was made of.
  std::vector<std::vector<std::uint64_t>> streams_;
  std::uint64_t inputs_ = 0;  // that have a stream
};

}  // namespace hocket
