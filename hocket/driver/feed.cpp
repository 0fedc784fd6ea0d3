#include "hocket/driver/feed.h"

namespace hocket {

Feed::Feed(const Step& step, int ranks, std::optional<std::uint64_t> seed) : step_(step) {
  if (seed) random_.emplace(step.program, *seed, ranks);
  for (int r = 0; r < ranks; ++r) nothing_.emplace_back(step.program.graph_of(r).inputs().size());
}

InputTables Feed::state() const {
  if (random_) return random_->state();
  return complete(step_.recording.state);
}

InputTables Feed::batch(std::int64_t iteration) const {
  if (random_) return random_->batch(iteration);
  const auto& batches = step_.recording.batches;
  if (batches.empty()) return nothing_;
  return complete(batches[static_cast<std::size_t>(iteration) % batches.size()]);
}

/// Ranks without recorded values get a row of empty tensors.
InputTables Feed::complete(const InputTables& recorded) const {
  InputTables all = nothing_;
  for (std::size_t r = 0; r < recorded.size(); ++r)
    if (!recorded[r].empty()) all[r] = recorded[r];
  return all;
}

}  // namespace hocket
