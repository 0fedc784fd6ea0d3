// The rules about transfers: from start to wait in a phase.

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/base/text.h"
#include "hocket/plan/verify_carried.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

/// The bytes that transfers in flight write.
class InFlightBytes {
 public:
  explicit InFlightBytes(const Plan& plan) : plan_(plan) {}

  /// The transfer that writes some of these bytes.
  const std::uint32_t* find(ByteRange range) const {
    if (range.empty()) return nullptr;
    auto next = ranges_.lower_bound(range.end);
    if (next == ranges_.begin()) return nullptr;
    const auto& [begin, entry] = *std::prev(next);
    return entry.first > range.begin ? &entry.second : nullptr;
  }
  /// False when another one writes these bytes.
  bool add(std::uint32_t transfer, const PlanPhase& phase, const Instruction& start) {
    if (start.op->collective->kind == CollectiveKind::send) return true;  // reads only
    for (const Location& l : phase.results(start)) {
      ByteRange range = bytes_of(plan_, l);
      if (range.empty()) continue;
      if (find(range) != nullptr) return false;
      ranges_.emplace(range.begin, std::pair(range.end, transfer));
    }
    return true;
  }
  void remove(const PlanPhase& phase, const Instruction& start) {
    if (start.op->collective->kind == CollectiveKind::send) return;
    for (const Location& l : phase.results(start))
      if (ByteRange range = bytes_of(plan_, l); !range.empty()) ranges_.erase(range.begin);
  }

 private:
  const Plan& plan_;
  std::map<std::int64_t, std::pair<std::int64_t, std::uint32_t>> ranges_;  // end and transfer
};

/// One phase from its first instruction to its last.
class PhaseWalk {
 public:
  PhaseWalk(const PlanScope& s, std::size_t p, const CarriedTransfers& carried)
      : s_(s),
        number_(p),
        phase_(s.graph.phases[p]),
        carried_(carried),
        starts_(phase_.transfers),
        waited_(phase_.transfers),
        bytes_(s.plan) {}

  std::optional<PlanViolation> walk() {
    const std::vector<bool>& before = carried_.in_flight_at_begin(number_);
    for (std::uint32_t t = 0; t < before.size(); ++t) {
      auto [phase, start] = carried_.start(t);
      if (before[t] && !bytes_.add(t, *phase, *start))
        return PlanViolation{
            "in-flight",
            fmt::format("transfer {} and another one may be in flight at once and write the same "
                        "bytes",
                        t),
            s_.number,
            {},
            number_};
    }
    for (std::size_t n = 0; n < phase_.instructions.size(); ++n)
      if (auto v = step(n)) return v;
    for (std::uint32_t t = s_.graph.carried_transfers; t < phase_.transfers; ++t)
      if (!waited_[t])
        return PlanViolation{"transfers",
                             starts_[t] == nullptr
                                 ? fmt::format("found {}, but nothing starts transfer {}",
                                               count_of(phase_.transfers, "transfer"), t)
                                 : fmt::format("nobody waits for transfer {}", t),
                             s_.number,
                             {},
                             number_};
    return std::nullopt;
  }

 private:
  bool is_carried(std::uint32_t t) const { return t < s_.graph.carried_transfers; }

  std::optional<PlanViolation> step(std::size_t n) {
    const Instruction& i = phase_.instructions[n];
    auto violation = [&](std::string_view rule, std::string message) {
      return PlanViolation{rule, std::move(message), s_.number, {}, number_, n};
    };
    if (i.kind == InstructionKind::wait) {
      if (PlanFinding finding = wait(i)) return violation("transfers", std::move(*finding));
      return std::nullopt;
    }
    if (PlanFinding finding = touch(i)) return violation("in-flight", std::move(*finding));
    if (i.kind != InstructionKind::start) return std::nullopt;
    if (PlanFinding finding = channel(i)) return violation("channels", std::move(*finding));
    if (PlanFinding finding = start(n)) return violation("transfers", std::move(*finding));
    return std::nullopt;
  }

  PlanFinding touch(const Instruction& i) const {
    auto found = [](std::uint32_t t) {
      return fmt::format("touches bytes that transfer {} writes until its wait", t);
    };
    for (const auto& list : {phase_.operands(i), phase_.results(i)})
      for (const Location& l : list)
        if (const std::uint32_t* t = bytes_.find(bytes_of(s_.plan, l))) return found(*t);
    if (i.kind == InstructionKind::kernel && i.workspace_bytes > 0)
      if (const std::uint32_t* t = bytes_.find(workspace_of(i))) return found(*t);
    return std::nullopt;
  }

  PlanFinding channel(const Instruction& i) {
    auto channel = attribute<std::int64_t>(*i.op, i.attributes, "channel");
    if (channel < 0 || channel > max_channel)
      return fmt::format("channel {}, wanted 0 to {}", channel, max_channel);
    if (!channels_.insert(static_cast<std::uint64_t>(channel)).second)
      return fmt::format("channel {} is taken in this phase", channel);
    return std::nullopt;
  }

  PlanFinding start(std::size_t n) {
    const Instruction& i = phase_.instructions[n];
    if (!is_carried(i.index) && starts_[i.index] != nullptr)
      return fmt::format("transfer {} is started twice", i.index);
    starts_[i.index] = &i;
    if (!bytes_.add(i.index, phase_, i)) internal_fail("a start that touches bytes in flight");
    if (i.op->is_collective) return std::nullopt;
    const Instruction* next =
        n + 1 < phase_.instructions.size() ? &phase_.instructions[n + 1] : nullptr;
    if (next != nullptr && next->kind == InstructionKind::wait && next->index == i.index)
      return std::nullopt;
    return fmt::format("wanted 'wait {}' right behind it", i.index);
  }

  PlanFinding wait(const Instruction& i) {
    const PlanPhase* phase = &phase_;
    const Instruction* start = starts_[i.index];
    if (is_carried(i.index)) std::tie(phase, start) = carried_.start(i.index);
    if (start == nullptr) return fmt::format("transfer {} is not started before", i.index);
    if (!is_carried(i.index) && waited_[i.index])
      return fmt::format("transfer {} is waited for twice", i.index);
    waited_[i.index] = true;
    std::vector<Location> results(phase->results(*start).begin(), phase->results(*start).end());
    std::ranges::sort(results, {}, &Location::offset);
    for (const Location& l : phase_.results(i)) {
      auto at = std::ranges::lower_bound(results, l.offset, {}, &Location::offset);
      while (at != results.end() && at->offset == l.offset && !same_place(s_.plan, l, *at)) ++at;
      if (at == results.end() || at->offset != l.offset)
        return fmt::format("@{} is no result of transfer {}", l.offset, i.index);
    }
    bytes_.remove(*phase, *start);
    return std::nullopt;
  }

  const PlanScope& s_;
  std::size_t number_;
  const PlanPhase& phase_;
  const CarriedTransfers& carried_;
  std::vector<const Instruction*> starts_;  // by transfer
  std::vector<bool> waited_;
  std::unordered_set<std::uint64_t, MixedHash> channels_;
  InFlightBytes bytes_;
};

}  // namespace

std::optional<PlanViolation> find_in_transfers(const PlanScope& s) {
  // Bounds what the numbers in a text can cost.
  std::size_t all = 0;
  for (std::size_t p = 0; p < s.graph.phases.size(); ++p) {
    const PlanPhase& phase = s.graph.phases[p];
    auto starts = static_cast<std::size_t>(
        std::ranges::count(phase.instructions, InstructionKind::start, &Instruction::kind));
    all += starts;
    if (phase.transfers < s.graph.carried_transfers ||
        phase.transfers - s.graph.carried_transfers > starts)
      return PlanViolation{
          "transfers",
          fmt::format("found {} and {}, of which {} carried", count_of(phase.transfers, "transfer"),
                      count_of(static_cast<std::int64_t>(starts), "start"),
                      s.graph.carried_transfers),
          s.number,
          {},
          p};
  }
  if (s.graph.carried_transfers > all)
    return PlanViolation{
        "carried",
        fmt::format("found {} and {}", count_of(s.graph.carried_transfers, "carried transfer"),
                    count_of(static_cast<std::int64_t>(all), "start")),
        s.number};
  CarriedTransfers carried(s);
  if (auto v = carried.collect()) return v;
  if (auto v = carried.walk()) return v;
  for (std::size_t p = 0; p < s.graph.phases.size(); ++p)
    if (auto v = PhaseWalk(s, p, carried).walk()) return v;
  return std::nullopt;
}

}  // namespace hocket
