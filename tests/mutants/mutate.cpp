#include "mutate.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::testing {
namespace {

using Done = std::optional<std::string>;

template <class T>
const T& pick(Random& random, const std::vector<T>& list) {
  return list[below(random, list.size())];
}

/// A phase of a graph of the plan.
struct Place {
  Plan& plan;
  std::size_t g, p;
  Random& random;

  PlanGraph& graph() const { return plan.graphs[g]; }
  PlanPhase& phase() const { return graph().phases[p]; }
  std::vector<Instruction>& list() const { return phase().instructions; }
  std::string name() const {
    return fmt::format("{}, {}", plan.program.graphs[g].name(),
                       window_name(plan.shape, phase().window));
  }
};

bool is_start(const Instruction& i) { return i.kind == InstructionKind::start; }
bool is_wait(const Instruction& i) { return i.kind == InstructionKind::wait; }
bool communicates(const Instruction& i) { return is_start(i) || is_wait(i); }

std::vector<std::size_t> where(const Place& at,
                               const std::function<bool(const Instruction&)>& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < at.list().size(); ++n)
    if (wanted(at.list()[n])) found.push_back(n);
  return found;
}

void erase(const Place& at, std::size_t n) {
  at.list().erase(at.list().begin() + static_cast<std::ptrdiff_t>(n));
}
void insert(const Place& at, std::size_t n, const Instruction& i) {
  at.list().insert(at.list().begin() + static_cast<std::ptrdiff_t>(n), i);
}
void move(const Place& at, std::size_t from, std::size_t to) {
  Instruction i = at.list()[from];
  erase(at, from);
  insert(at, to, i);
}

// ---- order

Done reorder(const Place& at) {
  std::size_t size = at.list().size();
  if (size < 2) return std::nullopt;
  std::vector<std::size_t> some = where(at, communicates);
  std::size_t from =
      !some.empty() && chance(at.random, 50) ? pick(at.random, some) : below(at.random, size);
  std::size_t to = below(at.random, size);
  if (chance(at.random, 50)) {  // not far
    std::size_t low = from >= 2 ? from - 2 : 0, high = std::min(size - 1, from + 2);
    to = low + below(at.random, high - low + 1);
  }
  if (to == from) return std::nullopt;
  if (chance(at.random, 30)) {
    std::swap(at.list()[from], at.list()[to]);
    return fmt::format("instructions {} and {} change places", from, to);
  }
  move(at, from, to);
  return fmt::format("instruction {} moves to {}", from, to);
}

/// Two collectives of a graph that not all ranks run.
Done swap_collectives(const Place& at) {
  if (ranks_of(at.plan.program.graphs[at.g]).size() != 1 || at.plan.graphs.size() < 2)
    return std::nullopt;
  std::vector<std::size_t> starts = where(at, is_start);
  if (starts.size() < 2) return std::nullopt;
  std::size_t k = below(at.random, starts.size() - 1);
  std::size_t l = chance(at.random, 70) ? k + 1 : k + 1 + below(at.random, starts.size() - 1 - k);
  std::size_t a = starts[k], b = starts[l];
  switch (below(at.random, 3)) {
    case 0:
      std::swap(at.list()[a], at.list()[b]);
      return fmt::format("starts {} and {} change places", a, b);
    case 1:
      move(at, a, b);
      return fmt::format("start {} moves behind {}", a, b);
    default:
      move(at, b, a);
      return fmt::format("start {} moves before {}", b, a);
  }
}

// ---- missing and more

std::optional<std::size_t> wait_of(const Place& at, std::uint32_t transfer, std::size_t from) {
  for (std::size_t n = from; n < at.list().size(); ++n)
    if (is_wait(at.list()[n]) && at.list()[n].index == transfer) return n;
  return std::nullopt;
}

Done drop(const Place& at) {
  std::vector<std::size_t> some = where(
      at, [](const Instruction& i) { return !is_wait(i) && i.kind != InstructionKind::output; });
  if (some.empty()) return std::nullopt;
  std::size_t n = pick(at.random, some);
  Instruction i = at.list()[n];
  auto w = is_start(i) ? wait_of(at, i.index, n) : std::nullopt;
  bool both = w && chance(at.random, 60);
  if (both) {  // numbers have no gaps
    erase(at, *w);
    if (i.index >= at.graph().carried_transfers) {
      --at.phase().transfers;
      for (Instruction& other : at.list())
        if (communicates(other) && other.index > i.index) --other.index;
    }
  }
  erase(at, n);
  return fmt::format("instruction {} is dropped{}", n, both ? ", with its wait" : "");
}

constexpr std::int64_t fresh_channel = 1'000'003;

/// The transfer once more, with its wait, behind itself or somewhere later.
void repeat_transfer(const Place& at, std::size_t n, bool in_place) {
  Instruction i = at.list()[n];
  i.index = at.phase().transfers++;
  i.attributes =
      i.attributes.with(static_cast<std::size_t>(i.op->attribute_index("channel")), fresh_channel);
  Instruction w{.kind = InstructionKind::wait, .label = i.label, .index = i.index};
  std::size_t behind = n + 1;
  if (auto first = wait_of(at, at.list()[n].index, n); first && in_place) behind = *first + 1;
  insert(at, behind, i);
  insert(at, behind + 1, w);
}

Done repeat_everywhere(const Place& at, std::int64_t channel) {
  std::size_t ranks = 0;
  for (std::size_t g = 0; g < at.plan.graphs.size(); ++g) {
    Place there{at.plan, g, at.p, at.random};
    for (std::size_t n = 0; n < there.list().size(); ++n) {
      const Instruction& i = there.list()[n];
      if (!is_start(i) || attribute<std::int64_t>(*i.op, i.attributes, "channel") != channel)
        continue;
      repeat_transfer(there, n, true);
      ++ranks;
      break;
    }
  }
  return fmt::format("channel {} is repeated by {} graphs", channel, ranks);
}

Done duplicate(const Place& at) {
  std::vector<std::size_t> some =
      where(at, [](const Instruction& i) { return i.kind != InstructionKind::output; });
  if (some.empty()) return std::nullopt;
  std::size_t n = pick(at.random, some);
  Instruction i = at.list()[n];
  if (is_start(i) && chance(at.random, 70))
    return repeat_everywhere(at, attribute<std::int64_t>(*i.op, i.attributes, "channel"));
  if (is_start(i)) {
    repeat_transfer(at, n, chance(at.random, 50));
    return fmt::format("transfer {} is repeated", i.index);
  }
  std::size_t to = chance(at.random, 50) ? n + 1 : n + 1 + below(at.random, at.list().size() - n);
  insert(at, to, i);
  return fmt::format("instruction {} is repeated at {}", n, to);
}

Done remove_wait(const Place& at) {
  std::vector<std::size_t> waits = where(at, is_wait);
  if (waits.empty()) return std::nullopt;
  std::size_t n = pick(at.random, waits);
  if (chance(at.random, 50) || n + 1 == at.list().size()) {
    erase(at, n);
    return fmt::format("wait {} is missing", n);
  }
  std::size_t to = chance(at.random, 30) ? at.list().size() - 1
                                         : n + 1 + below(at.random, at.list().size() - n - 1);
  move(at, n, to);
  return fmt::format("wait {} is missing until {}", n, to);
}

// ---- places

/// Locations of the same type and layout, once each.
std::vector<Location> others(const Place& at, const Location& l) {
  std::vector<Location> found;
  auto add = [&](const Location& other) {
    if (other.type == l.type && other.layout == l.layout && other != l &&
        std::ranges::find(found, other) == found.end())
      found.push_back(other);
  };
  for (const Location& other : at.phase().locations) add(other);
  for (const Home& home : at.graph().homes) add(home.location);
  return found;
}

Done retarget_transfer(const Place& at, Instruction& i) {
  if (at.phase().transfers < 2) return std::nullopt;
  std::uint32_t from = i.index;
  i.index = static_cast<std::uint32_t>(below(at.random, at.phase().transfers));
  if (i.index == from) return std::nullopt;
  if (is_wait(i)) i.results = 0;
  std::string said =
      fmt::format("a {} for {} is for {}", is_wait(i) ? "wait" : "start", from, i.index);
  if (chance(at.random, 50)) return said;
  for (Instruction& other : at.list()) {  // the other one takes its place
    if (&other == &i || other.kind != i.kind || other.index != i.index) continue;
    other.index = from;
    if (is_wait(other)) other.results = 0;
    return said + ", and the other way round";
  }
  return said;
}

Done retarget_group(const Place& at, Instruction& i) {
  std::vector<std::string_view> names = at.plan.program.world->group_names();
  std::string name(names[below(at.random, names.size())]);
  if (attribute<std::string>(*i.op, i.attributes, "group") == name) return std::nullopt;
  i.attributes = i.attributes.with(static_cast<std::size_t>(i.op->attribute_index("group")), name);
  auto& groups = at.graph().groups;
  auto lane = std::ranges::find(groups, name);
  if (lane == groups.end()) lane = groups.insert(lane, name);
  i.lane = static_cast<std::uint16_t>(lane - groups.begin() + 1);
  return "a start moves to group " + name;
}

Done retarget(const Place& at) {
  std::vector<std::size_t> some = where(at, [](const Instruction&) { return true; });
  if (some.empty()) return std::nullopt;
  std::size_t n = pick(at.random, some);
  Instruction& i = at.list()[n];
  if (is_wait(i) || (is_start(i) && chance(at.random, 20))) return retarget_transfer(at, i);
  if (is_start(i) && chance(at.random, 30)) return retarget_group(at, i);
  if (i.workspace_bytes > 0 && chance(at.random, 15)) {
    std::int64_t before = i.workspace;
    const Instruction& other = pick(at.random, at.list());
    i.workspace = other.workspace_bytes > 0 || at.phase().locations.empty()
                      ? other.workspace
                      : pick(at.random, at.phase().locations).offset;
    if (i.workspace == before) return std::nullopt;
    return fmt::format("the workspace of {} is @{}", n, i.workspace);
  }
  if (i.operands + i.results == 0) return std::nullopt;
  std::size_t k = below(at.random, i.operands + i.results);
  Location& l = at.phase().locations[i.locations + k];
  std::vector<Location> choices = others(at, l);
  if (choices.empty()) return std::nullopt;
  std::int64_t before = l.offset;
  l = pick(at.random, choices);
  return fmt::format("location {} of {} is @{} instead of @{}", k, n, l.offset, before);
}

std::int64_t random_shift(const Place& at, const Location& l) {
  const Type& type = at.plan.types[l.type];
  std::int64_t choices[] = {64, 64, 128, 4, bytes(type.dtype), type.bytes(), 1};
  std::int64_t by = choices[below(at.random, std::size(choices))];
  return chance(at.random, 50) ? by : -by;
}

Done shift(const Place& at) {
  auto& locations = at.phase().locations;
  std::vector<std::size_t> spaces =
      where(at, [](const Instruction& i) { return i.workspace_bytes > 0; });
  if (!spaces.empty() && chance(at.random, 10)) {
    std::size_t n = pick(at.random, spaces);
    std::int64_t by = chance(at.random, 80) ? 64 : 8;
    at.list()[n].workspace += chance(at.random, 50) ? by : -by;
    return fmt::format("the workspace of {} is @{}", n, at.list()[n].workspace);
  }
  if (locations.empty()) return std::nullopt;
  if (!at.graph().homes.empty() && chance(at.random, 5)) {
    Location& home = at.graph().homes[below(at.random, at.graph().homes.size())].location;
    home.offset += random_shift(at, home);
    return fmt::format("a home moves to @{}", home.offset);
  }
  std::size_t k = below(at.random, locations.size());
  Location before = locations[k];
  std::int64_t by = random_shift(at, before);
  if (by == 0) return std::nullopt;
  bool all = chance(at.random, 50);
  for (Instruction& i : at.list())  // results of waits are names, no accesses
    for (std::uint32_t n = i.locations; n < i.locations + i.operands + i.results; ++n)
      if (n == k ? true : (all && locations[n] == before)) {
        if (is_wait(i))
          i.results = 0;
        else
          locations[n].offset = before.offset + by;
      }
  if (locations[k] == before) return std::nullopt;
  return fmt::format("{} @{} moves by {}", all ? "all" : "one", before.offset, by);
}

}  // namespace

std::optional<std::string> mutate(Plan& plan, Mutation kind, Random& random) {
  std::size_t g = below(random, plan.graphs.size());
  Place at{plan, g, below(random, plan.graphs[g].phases.size()), random};
  using Make = Done (*)(const Place&);
  constexpr std::array<Make, mutation_names.size()> makers = {
      reorder, drop, duplicate, retarget, swap_collectives, shift, remove_wait};
  Done done = makers[static_cast<std::size_t>(kind)](at);
  if (done) done = at.name() + ": " + *done;
  return done;
}

}  // namespace hocket::testing
