#include "hocket/driver/outputs.h"

#include "hocket/driver/shards.h"

namespace hocket {

OutputLog::OutputLog(const Program& program, int ranks, std::int64_t whole)
    : whole_(static_cast<std::size_t>(whole)) {
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    outputs_.push_back(program.graph_of(static_cast<int>(r)).outputs().size());
    per_iteration_ += outputs_.back();
  }
}

void OutputLog::begin() {
  auto& ranks = reports_.emplace_back();
  for (std::size_t outputs : outputs_) ranks.emplace_back(outputs);
  came_.push_back(0);
}

void OutputLog::add(std::span<const Produced> produced) {
  for (const Produced& p : produced) {
    auto k = static_cast<std::size_t>(p.iteration);
    reports_[k][static_cast<std::size_t>(p.rank)][p.output].value = p.value;
    ++came_[k];
  }
  while (closed_ < reports_.size() && came_[closed_] == per_iteration_) close(closed_++);
}

void OutputLog::close(std::size_t iteration) {
  for (auto& rank : reports_[iteration])
    for (OutputReport& o : rank) {
      o.type = o.value.type();
      digest_.add(o.value);
      if (o.type.elements() == 1) continue;
      o.digest = Digest().add(o.value).text();
      if (iteration >= whole_) o.value = {};
    }
}

}  // namespace hocket
