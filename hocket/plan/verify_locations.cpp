// The rules about values in memory.

#include "hocket/base/error.h"
#include "hocket/plan/verify_parts.h"

namespace hocket {
namespace {

/// For a location of which `arena` is not yet known to hold. The bounds of a layout are at most
/// 2^57 elements away.
PlanFinding arena(const Plan& plan, const PlanGraph& graph, const Location& l) {
  if (l.offset < 0 || l.offset > graph.arena_bytes)
    return fmt::format("offset {} in an arena of {} bytes", l.offset, graph.arena_bytes);
  ByteRange range = bytes_of(plan, l);
  if (range.empty() || (range.begin >= 0 && range.end <= graph.arena_bytes)) return std::nullopt;
  return fmt::format("bytes {} to {} in an arena of {} bytes", range.begin, range.end - 1,
                     graph.arena_bytes);
}

}  // namespace

ByteRange bytes_of(const Plan& plan, const Location& l) {
  auto [low, high] = plan.layouts[l.layout].bounds();
  std::int64_t size = bytes(plan.types[l.type].dtype);
  return {l.offset + low * size, l.offset + (high + 1) * size};
}

bool same_place(const Plan& plan, const Location& a, const Location& b) {
  return a.offset == b.offset && plan.types[a.type] == plan.types[b.type] &&
         plan.layouts[a.layout] == plan.layouts[b.layout];
}

ByteRange workspace_of(const Instruction& i) {
  return {i.workspace, i.workspace + i.workspace_bytes};
}

std::optional<LocationFinding> find_in_location(const Plan& plan, const PlanGraph& graph,
                                                const Location& l, bool member) {
  const Type& type = plan.types[l.type];
  const Layout& layout = plan.layouts[l.layout];
  if (type.pending)
    return LocationFinding{"types",
                           fmt::format("{}, wanted the type with which it arrives", to_text(type))};
  if (layout.elements() != type.elements())
    return LocationFinding{
        "layouts", fmt::format("layout {} of {} has {} elements, wanted {}", to_text(layout),
                               to_text(type), layout.elements(), type.elements())};
  if (PlanFinding finding = arena(plan, graph, l))
    return LocationFinding{"arena", fmt::format("{} @{}: {}", to_text(type), l.offset, *finding)};
  std::int64_t unit = member ? plan_alignment : bytes(type.dtype);
  if (l.offset % unit != 0)
    return LocationFinding{
        "alignment", fmt::format("{} @{}, wanted a multiple of {}", to_text(type), l.offset, unit)};
  return std::nullopt;
}

}  // namespace hocket
