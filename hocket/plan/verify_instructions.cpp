// The rules about single instructions.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

bool calls_an_op(const Instruction& i) {
  return i.kind == InstructionKind::kernel || i.kind == InstructionKind::start;
}

PlanFinding kernels(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  if (!calls_an_op(i)) return std::nullopt;
  const Op& op = *i.op;
  if (i.kind == InstructionKind::start) {
    if (op.collective == nullptr) return fmt::format("{} is not a collective", op.name);
    return std::nullopt;
  }
  if (op.collective != nullptr || op.is_wait || op.has_region || &op == &input_op ||
      &op == &return_op)
    return fmt::format("{} is not run by a kernel", op.name);
  if (op.expand != nullptr && i.backend == 0)
    return fmt::format("{} is a composite: the reference runs its parts", op.name);
  if (op.attribute_index("ref") >= 0)
    if (const auto& ref = attribute<std::string>(op, i.attributes, "ref"); !ref.empty())
      return fmt::format("constant {} has a home, and no kernel makes it", quoted(ref));
  for (const Location& l : phase.results(i))
    if (s.plan.types[l.type].elements() > 0) return std::nullopt;
  return "no result has elements";
}

/// Of all ranks of the graph.
PlanFinding groups(PlanScope& s, const PlanPhase&, const Instruction& i) {
  if (!calls_an_op(i) || i.op->attribute_index("group") < 0) return std::nullopt;
  const World& world = s.body.world();
  const auto& group = attribute<std::string>(*i.op, i.attributes, "group");
  if (!s.good_groups.contains(group)) {
    if (!world.group_size(group))
      return fmt::format("unknown group {}{}", quoted(group),
                         nearest_hint(group, world.group_names()));
    if (auto rank = world.outsider(group, s.body.ranks()))
      return fmt::format("rank {} is not in group {}", *rank, quoted(group));
    s.good_groups.insert(group);
  }
  if (i.kind != InstructionKind::start) return std::nullopt;
  const std::string& lane = s.graph.groups[i.lane - 1u];
  if (lane != group)
    return fmt::format("on the lane of group {}, wanted {}", quoted(lane), quoted(group));
  if (!i.op->collective->point_to_point) return std::nullopt;
  auto peer = attribute<std::int64_t>(*i.op, i.attributes, i.op->collective->peer);
  if (peer < 0 || peer >= *world.group_size(group)) return std::nullopt;  // the op refuses it
  if (!s.good_peers.emplace(group, peer).second) return std::nullopt;
  for (int rank : ranks_of(s.body))
    if (world.members(group, rank)[static_cast<std::size_t>(peer)] == rank)
      return fmt::format("rank {} would be its own partner", rank);
  return std::nullopt;
}

PlanFinding inferred_types(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  std::vector<const Type*> operands;
  for (const Location& l : phase.operands(i)) operands.push_back(&s.plan.types[l.type]);
  std::vector<Type> results;
  for (const Location& l : phase.results(i))
    results.push_back(i.op->is_collective ? s.plan.types[l.type].in_flight()
                                          : s.plan.types[l.type]);
  try {
    // Without results there is nothing to compare, so the number is compared here.
    std::size_t count = infer_types({.op = *i.op,
                                     .inputs = operands,
                                     .attributes = i.attributes,
                                     .world = s.body.world(),
                                     .written = results,
                                     .region = nullptr})
                            .size();
    if (count != results.size())
      return fmt::format("found {}, wanted {}", count_of(std::ssize(results), "result"), count);
  } catch (const Error& e) {
    // The message of an op begins with its name, which the place in front of it contains already.
    std::string_view what = e.what(), self = i.op->name;
    if (what.starts_with(self) && what.substr(self.size()).starts_with(": "))
      what.remove_prefix(self.size() + 2);
    return std::string(what);
  }
  return std::nullopt;
}

PlanFinding types(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  if (calls_an_op(i)) return inferred_types(s, phase, i);
  if (i.kind != InstructionKind::copy) return std::nullopt;
  const Type& from = s.plan.types[phase.operands(i)[0].type];
  const Type& to = s.plan.types[phase.results(i)[0].type];
  if (from == to) return std::nullopt;
  return fmt::format("copies {} to {}, wanted one type", to_text(from), to_text(to));
}

/// Members of an elementwise collective may have any dense layout, the same on both sides.
PlanFinding member_layouts(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  auto operands = phase.operands(i), results = phase.results(i);
  auto layout = [&](const Location& l) -> const Layout& { return s.plan.layouts[l.layout]; };
  bool any = i.op->collective->elementwise && operands.size() == results.size();
  for (std::size_t k = 0; k < std::max(operands.size(), results.size()); ++k) {
    if (any && layout(operands[k]).is_dense() && layout(operands[k]) == layout(results[k]))
      continue;
    for (const auto& list : {operands, results})
      if (k < list.size() && !layout(list[k]).is_row_major())
        return fmt::format("member {} has layout {}, wanted {}", k, to_text(layout(list[k])),
                           any ? "one dense layout on both sides" : "row-major");
  }
  return std::nullopt;
}

PlanFinding layouts(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  if (i.kind == InstructionKind::start) return member_layouts(s, phase, i);
  for (const Location& l : phase.results(i))
    if (const Layout& layout = s.plan.layouts[l.layout]; !layout.is_dense())
      return fmt::format("result with layout {}, wanted a dense one", to_text(layout));
  return std::nullopt;
}

PlanFinding workspace(PlanScope& s, const PlanPhase&, const Instruction& i) {
  if (i.kind != InstructionKind::kernel || i.workspace_bytes == 0) return std::nullopt;
  std::int64_t arena = s.graph.arena_bytes;
  if (i.workspace_bytes < 0 || i.workspace < 0 || i.workspace > arena ||
      i.workspace_bytes > arena - i.workspace)
    return fmt::format("{} bytes @{} in an arena of {} bytes", i.workspace_bytes, i.workspace,
                       arena);
  if (i.workspace % plan_alignment != 0)
    return fmt::format("@{}, wanted a multiple of {}", i.workspace, plan_alignment);
  return std::nullopt;
}

/// Results of one instruction in the order of their bytes, which are apart.
class Written {
 public:
  Written(const Plan& plan, std::span<const Location> results) {
    for (const Location& l : results)
      if (ByteRange range = bytes_of(plan, l); !range.empty()) all_.push_back({range, &l});
    std::ranges::sort(all_, {}, [](const Entry& e) { return e.range.begin; });
  }

  PlanFinding find_overlap() const {
    for (std::size_t k = 1; k < all_.size(); ++k)
      if (all_[k - 1].range.overlaps(all_[k].range))
        return fmt::format("results @{} and @{} overlap", all_[k - 1].result->offset,
                           all_[k].result->offset);
    return std::nullopt;
  }

  /// The first result that overlaps these bytes and that `accept` refuses.
  template <class Accept>
  const Location* find(ByteRange range, Accept accept) const {
    auto at = std::ranges::partition_point(
        all_, [&](const Entry& e) { return e.range.end <= range.begin; });
    for (; at != all_.end() && at->range.overlaps(range); ++at)
      if (!accept(*at->result)) return at->result;
    return nullptr;
  }

 private:
  struct Entry {
    ByteRange range;
    const Location* result;
  };
  std::vector<Entry> all_;
};

PlanFinding overlap_of_members(const PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  auto operands = phase.operands(i), results = phase.results(i);
  if (i.op->collective->kind == CollectiveKind::send) {
    if (same_place(s.plan, operands[0], results[0])) return std::nullopt;
    return "the result of a send is its operand, with the same bytes";
  }
  Written written(s.plan, results);
  if (PlanFinding finding = written.find_overlap()) return finding;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto accept = [&](const Location& result) {
      return i.op->collective->elementwise && &result == &results[k] &&
             same_place(s.plan, result, operands[k]);
    };
    if (const Location* other = written.find(bytes_of(s.plan, operands[k]), accept))
      return fmt::format(
          "operand @{} overlaps the result @{}{}", operands[k].offset, other->offset,
          other == &results[k] ? ", wanted all of it or nothing" : " of another member");
  }
  return std::nullopt;
}

PlanFinding overlap(PlanScope& s, const PlanPhase& phase, const Instruction& i) {
  if (i.kind == InstructionKind::start) return overlap_of_members(s, phase, i);
  if (i.kind != InstructionKind::kernel && i.kind != InstructionKind::copy) return std::nullopt;
  Written written(s.plan, phase.results(i));
  if (PlanFinding finding = written.find_overlap()) return finding;
  bool in_place = i.kind == InstructionKind::kernel;
  for (const Location& operand : phase.operands(i)) {
    auto accept = [&](const Location& result) {
      return in_place && same_place(s.plan, result, operand);
    };
    if (const Location* result = written.find(bytes_of(s.plan, operand), accept))
      return fmt::format("result @{} overlaps operand @{}{}", result->offset, operand.offset,
                         in_place ? ", wanted all of it or nothing" : "");
  }
  if (!in_place || i.workspace_bytes == 0) return std::nullopt;
  for (const auto& list : {phase.operands(i), phase.results(i)})
    for (const Location& l : list)
      if (workspace_of(i).overlaps(bytes_of(s.plan, l)))
        return fmt::format("its workspace overlaps {} @{}", to_text(s.plan.types[l.type]),
                           l.offset);
  return std::nullopt;
}

constexpr InstructionRule single_rules[] = {
    {{"kernels",
      "A kernel runs an op that is no collective, wait or call, and with the reference no "
      "composite; it computes at least one element, and no constant that has a home. A collective "
      "is started."},
     kernels},
    {{"groups",
      "A group exists, all ranks of the graph are in it, a start is on its lane, and no rank sends "
      "to itself."},
     groups},
    {{"types",
      "Results have the types that the op infers from its operands and attributes. A copy keeps "
      "the type. Nothing that has a place is in flight."},
     types},
    {{"layouts",
      "A layout has as many elements as the type. Results and homes are dense. Members of "
      "transfers are row-major, or dense and alike on both sides where the collective is "
      "elementwise."},
     layouts},
    {{"workspace", "A workspace lies inside the arena, at a multiple of 64."}, workspace},
    {{"overlap",
      "Results overlap neither each other nor the workspace. A result of a kernel takes all bytes "
      "of an operand, with its type and layout, or none. So does a result of a transfer, of the "
      "operand of the same member and where the collective is elementwise; for a send it is the "
      "operand."},
     overlap},
};

}  // namespace

std::span<const InstructionRule> instruction_rules() { return single_rules; }

std::optional<PlanViolation> find_in_instructions(PlanScope& s, std::size_t p) {
  const PlanPhase& phase = s.graph.phases[p];
  for (std::size_t n = 0; n < phase.instructions.size(); ++n) {
    const Instruction& i = phase.instructions[n];
    auto violation = [&](std::string_view rule, std::string message) {
      return PlanViolation{rule, std::move(message), s.number, {}, p, n};
    };
    bool member = i.kind == InstructionKind::start;
    for (const auto& list : {phase.operands(i), phase.results(i)})
      for (const Location& l : list)
        if (auto finding = find_in_location(s.plan, s.graph, l, member))
          return violation(finding->rule, std::move(finding->message));
    for (const InstructionRule& rule : single_rules)
      if (PlanFinding finding = rule.check(s, phase, i))
        return violation(rule.name, std::move(*finding));
  }
  return std::nullopt;
}

}  // namespace hocket
