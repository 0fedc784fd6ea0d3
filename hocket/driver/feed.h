#pragma once
// What a step is fed in a run.

#include <cstdint>
#include <optional>

#include "hocket/driver/load.h"
#include "hocket/driver/random_inputs.h"

namespace hocket {

/// The values that came with a step, from the first batch on again when they are used up; or random
/// ones, with a seed. Tables are by rank and input of the step's own program.
class Feed {
 public:
  /// The step must outlive this.
  Feed(const Step& step, int ranks, std::optional<std::uint64_t> seed);
  InputTables state() const;
  InputTables batch(std::int64_t iteration) const;

 private:
  InputTables complete(const InputTables& recorded) const;

  const Step& step_;
  InputTables nothing_;  // for each rank
  std::optional<RandomInputs> random_;
};

}  // namespace hocket
