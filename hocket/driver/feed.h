#pragma once
// The initial state and the inputs of a step in a run.

#include <cstdint>
#include <optional>

#include "hocket/driver/load.h"
#include "hocket/driver/random_inputs.h"

namespace hocket {

/// The recorded values of a step, starting over with the first batch after the last; with a seed,
/// random ones. Tables are by rank and input of the step's own program.
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
