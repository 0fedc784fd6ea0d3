#include "hocket/runtime/first_reads.h"

#include <iterator>
#include <map>

namespace hocket {
namespace {

/// Bytes that have arrived and were not read yet, with their transfer.
class Arrived {
 public:
  explicit Arrived(const Plan& plan) : plan_(plan) {}

  void add(const Location& l, std::int64_t transfer) {
    auto [begin, end] = range(l);
    if (begin < end) ranges_[begin] = {end, transfer};
  }
  /// Takes out what overlaps and returns the transfer of some of it, or -1.
  std::int64_t take(const Location& l) {
    auto [begin, end] = range(l);
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
    std::int64_t found = -1;
    while (it != ranges_.end() && it->first < end) {
      found = it->second.transfer;
      it = ranges_.erase(it);
    }
    return found;
  }

 private:
  std::pair<std::int64_t, std::int64_t> range(const Location& l) const {
    auto [low, high] = plan_.layouts[l.layout].bounds();
    std::int64_t size = bytes(plan_.types[l.type].dtype);
    return {l.offset + low * size, l.offset + (high + 1) * size};
  }

  struct Range {
    std::int64_t end, transfer;
  };
  const Plan& plan_;
  std::map<std::int64_t, Range> ranges_;  // by first byte
};

/// By transfer of the phase: where its results arrive.
std::vector<std::vector<Location>> places(const PlanGraph& graph, const PlanPhase& phase) {
  std::vector<std::vector<Location>> all(phase.transfers);
  auto add = [&](const PlanPhase& from, std::uint32_t below) {
    for (const Instruction& i : from.instructions) {
      if (i.kind != InstructionKind::start || i.index >= below) continue;
      auto results = from.results(i);
      all[i.index].assign(results.begin(), results.end());
    }
  };
  // What another phase has started arrives where any phase has it arrive.
  for (const PlanPhase& other : graph.phases) add(other, graph.carried_transfers);
  add(phase, phase.transfers);
  return all;
}

}  // namespace

std::vector<std::int64_t> first_reads(const Plan& plan, const PlanGraph& graph,
                                      const PlanPhase& phase) {
  std::vector<std::vector<Location>> results = places(graph, phase);
  Arrived arrived(plan);
  std::vector<std::int64_t> reads;
  for (const Instruction& i : phase.instructions) {
    std::int64_t& read = reads.emplace_back(-1);
    for (const Location& l : phase.operands(i))
      if (std::int64_t transfer = arrived.take(l); read < 0) read = transfer;
    for (const Location& l : phase.results(i)) (void)arrived.take(l);
    if (i.kind != InstructionKind::wait) continue;
    if (i.results == 0)
      for (const Location& l : results[i.index]) arrived.add(l, i.index);
    for (const Location& l : phase.results(i)) arrived.add(l, i.index);
  }
  return reads;
}

}  // namespace hocket
