#include "hocket/plan/bucket_copies.h"

#include <numeric>
#include <set>
#include <unordered_map>

namespace hocket {
namespace {

constexpr std::int64_t from_transfer = -1;

/// What has last written to the bytes at an offset: an instruction, or a transfer.
using Writers = std::unordered_map<std::int64_t, std::int64_t>;

/// Bytes that nothing but one transfer over a boundary uses.
std::set<std::int64_t> carried_members(const PlanGraph& graph) {
  std::set<std::int64_t> offsets;
  for (const PlanPhase& phase : graph.phases)
    for (const Instruction& i : phase.instructions) {
      if (i.kind != InstructionKind::start || i.index >= graph.carried_transfers) continue;
      for (const Location& l : phase.operands(i)) offsets.insert(l.offset);
      for (const Location& l : phase.results(i)) offsets.insert(l.offset);
    }
  return offsets;
}

std::vector<BucketCopy> copies_of(const Plan& plan, const PlanGraph& graph,
                                  const PlanPhase& phase) {
  std::set<std::int64_t> carried = carried_members(graph);
  std::vector<bool> counts(phase.instructions.size());
  Writers writers;
  for (std::size_t n = 0; n < phase.instructions.size(); ++n) {
    const Instruction& i = phase.instructions[n];
    if (i.kind == InstructionKind::copy) {
      std::int64_t from = phase.operands(i)[0].offset, to = phase.results(i)[0].offset;
      auto writer = writers.find(from);
      counts[n] = carried.contains(from) || carried.contains(to) ||
                  (writer != writers.end() && writer->second == from_transfer);
    }
    if (i.kind == InstructionKind::start)
      for (const Location& l : phase.operands(i))
        if (auto writer = writers.find(l.offset); writer != writers.end() && writer->second >= 0)
          counts[static_cast<std::size_t>(writer->second)] = true;
    for (const Location& l : phase.results(i))
      writers[l.offset] =
          i.kind == InstructionKind::start ? from_transfer : static_cast<std::int64_t>(n);
  }
  std::vector<BucketCopy> copies;
  for (std::size_t n = 0; n < phase.instructions.size(); ++n) {
    const Instruction& i = phase.instructions[n];
    if (!counts[n] || i.kind != InstructionKind::copy ||
        phase.operands(i)[0].layout != phase.results(i)[0].layout)
      continue;
    const TraceLabel& label = graph.labels[i.label];
    copies.push_back({label.name.empty() ? label.op : label.name, plan.reasons[i.index],
                      plan.types[phase.results(i)[0].type].bytes()});
  }
  return copies;
}

}  // namespace

std::int64_t total_bytes(std::span<const BucketCopy> copies) {
  return std::accumulate(copies.begin(), copies.end(), std::int64_t{0},
                         [](std::int64_t sum, const BucketCopy& c) { return sum + c.bytes; });
}

std::vector<BucketCopy> bucket_copies(const Plan& plan) {
  std::vector<BucketCopy> most;
  for (const PlanGraph& graph : plan.graphs)
    for (const PlanPhase& phase : graph.phases) {
      if (phase.window.lo != 0 || phase.window.hi != plan.shape.depth) continue;
      std::vector<BucketCopy> copies = copies_of(plan, graph, phase);
      if (total_bytes(copies) > total_bytes(most)) most = std::move(copies);
    }
  return most;
}

}  // namespace hocket
