#include "tests/threads/small_plan.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/codegen/backend.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {

SmallPlan::SmallPlan(std::string_view program, std::int64_t arena_bytes) {
  plan.program = parse(program, ops::all());
  if (std::ranges::any_of(plan.program.graphs, is_rotated)) plan.shape = loop_shape(plan.program);
  plan.graphs.emplace_back().arena_bytes = arena_bytes;
}

SmallPlan& SmallPlan::phase(Window window) {
  graph().phases.emplace_back().window = window;
  return *this;
}

std::uint32_t SmallPlan::label(std::string_view value) {
  const Graph& g = body();
  NodeId n = g.node(g.find(value));
  TraceLabel wanted{fmt::format("%{}", value), std::string(g[n].op->name), ""};
  std::vector<TraceLabel>& labels = graph().labels;
  auto found = std::ranges::find(labels, wanted.name, &TraceLabel::name);
  if (found == labels.end()) found = labels.insert(found, wanted);
  return static_cast<std::uint32_t>(found - labels.begin());
}

Instruction& SmallPlan::add(InstructionKind kind, const std::vector<Location>& operands,
                            const std::vector<Location>& results) {
  PlanPhase& p = graph().phases.back();
  Instruction& i = p.instructions.emplace_back();
  i.kind = kind;
  i.locations = static_cast<std::uint32_t>(p.locations.size());
  i.operands = static_cast<std::uint32_t>(operands.size());
  i.results = static_cast<std::uint32_t>(results.size());
  p.locations.insert(p.locations.end(), operands.begin(), operands.end());
  p.locations.insert(p.locations.end(), results.begin(), results.end());
  return i;
}

SmallPlan& SmallPlan::input(std::string_view name, Location to) {
  auto inputs = body().inputs();
  auto found = std::ranges::find(inputs, body().find(name), &Input::value);
  Instruction& i = add(InstructionKind::input, {}, {to});
  i.index = static_cast<std::uint32_t>(found - inputs.begin());
  i.label = label(name);
  return *this;
}

SmallPlan& SmallPlan::output(std::size_t index, Location from) {
  add(InstructionKind::output, {from}, {}).index = static_cast<std::uint32_t>(index);
  if (graph().labels.empty()) graph().labels.push_back({"", "return", ""});
  return *this;
}

SmallPlan& SmallPlan::state(std::string_view name, Location home) {
  auto inputs = body().inputs();
  auto found = std::ranges::find(inputs, body().find(name), &Input::value);
  graph().homes.push_back({.kind = HomeKind::state,
                           .input = static_cast<std::uint32_t>(found - inputs.begin()),
                           .location = home});
  return *this;
}

SmallPlan& SmallPlan::constant(std::string_view name, Location home) {
  graph().homes.push_back(
      {.kind = HomeKind::constant, .constant = std::string(name), .location = home});
  return *this;
}

SmallPlan& SmallPlan::kernel(std::string_view value, std::vector<Location> operands,
                             std::vector<Location> results, int backend) {
  const Node& node = body()[body().node(body().find(value))];
  Instruction& i = add(InstructionKind::kernel, operands, results);
  i.backend = static_cast<std::uint8_t>(backend);
  i.op = node.op;
  i.attributes = node.attributes;
  i.label = label(value);
  if (backend != 0) return *this;
  auto types = [&](const std::vector<Location>& list) {
    std::vector<Type> all;
    for (const Location& l : list) all.push_back(plan.types[l.type]);
    return all;
  };
  std::vector<Type> from = types(operands), to = types(results);
  i.workspace = 4096;
  i.workspace_bytes =
      prepare_reference({*i.op, i.attributes, from, to, *plan.program.world})->workspace_bytes;
  return *this;
}

SmallPlan& SmallPlan::copy(Location from, Location to) {
  add(InstructionKind::copy, {from}, {to});
  return *this;
}

SmallPlan& SmallPlan::start(std::string_view value, std::uint32_t transfer,
                            std::vector<Location> operands, std::vector<Location> results) {
  const Node& node = body()[body().node(body().find(value))];
  Instruction& i = add(InstructionKind::start, operands, results);
  i.op = node.op;
  i.attributes = node.attributes;
  i.label = label(value);
  i.index = transfer;
  const auto& name = attribute<std::string>(*node.op, node.attributes, "group");
  std::vector<std::string>& groups = graph().groups;
  auto found = std::ranges::find(groups, name);
  if (found == groups.end()) found = groups.insert(found, name);
  i.lane = static_cast<std::uint16_t>(found - groups.begin() + 1);
  std::uint32_t& transfers = graph().phases.back().transfers;
  transfers = std::max(transfers, transfer + 1);
  return *this;
}

SmallPlan& SmallPlan::wait(std::string_view value, std::uint32_t transfer) {
  Instruction& i = add(InstructionKind::wait, {}, {});
  i.index = transfer;
  i.label = label(value);
  std::uint32_t& transfers = graph().phases.back().transfers;
  transfers = std::max(transfers, transfer + 1);
  return *this;
}

Location SmallPlan::at(std::int64_t offset, std::int64_t elements) {
  return at(offset, Type{DType::f32, false, {elements}}, Layout::row_major(elements));
}

Location SmallPlan::at(std::int64_t offset, const Type& type, const Layout& layout) {
  auto place = [](auto& list, const auto& item) {
    auto found = std::ranges::find(list, item);
    if (found == list.end()) found = list.insert(found, item);
    return static_cast<std::uint32_t>(found - list.begin());
  };
  return {offset, place(plan.types, type), place(plan.layouts, layout)};
}

}  // namespace hocket::testing
