#include "mistakes.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/codegen/backend.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

using Done = std::optional<std::string>;

template <class T>
const T& one_of(Random& random, const std::vector<T>& list) {
  return list[below(random, list.size())];
}

/// A phase of a graph of the plan.
struct Site {
  Plan& plan;
  std::size_t g, p;
  Random& random;

  PlanGraph& graph() const { return plan.graphs[g]; }
  PlanPhase& phase() const { return graph().phases[p]; }
  std::vector<Instruction>& list() const { return phase().instructions; }
  Location& location(const Instruction& i, std::size_t k) const {
    return phase().locations[i.locations + k];
  }
  const Type& type(const Location& l) const { return plan.types[l.type]; }
};

using Accept = std::function<bool(const Instruction&)>;

std::vector<std::size_t> instructions(const Site& at, const Accept& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < at.list().size(); ++n)
    if (wanted(at.list()[n])) found.push_back(n);
  return found;
}

bool computes(const Instruction& i) {
  return i.kind == InstructionKind::kernel || i.kind == InstructionKind::copy;
}
bool starts(const Instruction& i) { return i.kind == InstructionKind::start; }

std::int64_t channel_of(const Instruction& i) {
  return attribute<std::int64_t>(*i.op, i.attributes, "channel");
}

/// The instruction and those of other graphs that meet it.
std::vector<std::pair<Site, std::size_t>> with_partners(const Site& at, std::size_t n) {
  std::vector<std::pair<Site, std::size_t>> all;
  for (std::size_t g = 0; g < at.plan.graphs.size(); ++g) {
    Site there{at.plan, g, at.p, at.random};
    for (std::size_t m = 0; m < there.list().size(); ++m)
      if (starts(there.list()[m]) && channel_of(there.list()[m]) == channel_of(at.list()[n]))
        all.emplace_back(there, m);
  }
  return all;
}

Done swap_operands(const Site& at) {
  std::vector<std::array<std::size_t, 3>> pairs;
  for (std::size_t n = 0; n < at.list().size(); ++n) {
    const Instruction& i = at.list()[n];
    if (i.kind != InstructionKind::kernel && !starts(i)) continue;
    for (std::size_t a = 0; a < i.operands; ++a)
      for (std::size_t b = a + 1; b < std::min<std::size_t>(i.operands, a + 8); ++b)
        if (at.type(at.location(i, a)) == at.type(at.location(i, b)) &&
            at.location(i, a) != at.location(i, b))
          pairs.push_back({n, a, b});
  }
  if (pairs.empty()) return std::nullopt;
  auto [n, a, b] = one_of(at.random, pairs);
  std::swap(at.location(at.list()[n], a), at.location(at.list()[n], b));
  return fmt::format("operands {} and {} of {} change places", a, b, n);
}

/// Replaces an operand by another location for which `accept(before, after)` holds.
Done replace_operand(const Site& at, const Accept& wanted,
                     const std::function<bool(const Location&, const Location&)>& accept) {
  std::vector<Location> all(at.phase().locations);
  for (const Home& home : at.graph().homes) all.push_back(home.location);
  std::ranges::shuffle(all, at.random);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t n : instructions(at, wanted))
    for (std::size_t k = 0; k < at.list()[n].operands; ++k) places.emplace_back(n, k);
  std::ranges::shuffle(places, at.random);
  for (auto [n, k] : places) {
    Location& l = at.location(at.list()[n], k);
    for (const Location& other : all)
      if (other != l && at.type(other) == at.type(l) && accept(l, other)) {
        std::int64_t before = l.offset;
        l = other;
        return fmt::format("operand {} of {} is @{} instead of @{}", k, n, other.offset, before);
      }
  }
  return std::nullopt;
}

bool any(const Instruction& i) {
  return computes(i) || i.kind == InstructionKind::output ||
         (starts(i) && i.op->collective->kind != CollectiveKind::send);
}

Done read_stale(const Site& at) {
  std::set<std::int64_t> homes;
  for (const Home& home : at.graph().homes)
    if (home.kind == HomeKind::state) homes.insert(home.location.offset);
  bool to_home = chance(at.random, 60);
  return replace_operand(at, any, [&](const Location& before, const Location& after) {
    return to_home ? homes.contains(after.offset)
                   : homes.contains(before.offset) && !homes.contains(after.offset);
  });
}

Done wrong_slot(const Site& at) {
  auto home_at = [&](const Location& l) -> const Home* {
    for (const Home& home : at.graph().homes)
      if (home.location.offset == l.offset && home.kind == HomeKind::state) return &home;
    return nullptr;
  };
  if (at.graph().carried_transfers >= 2 && chance(at.random, 40)) {
    // A result of another carried transfer, which may be that of another slot.
    std::vector<Location> carried;
    for (const Instruction& i : at.list())
      if (starts(i) && i.index < at.graph().carried_transfers)
        for (const Location& l : at.phase().results(i)) carried.push_back(l);
    for (const PlanPhase& phase : at.graph().phases)
      for (const Instruction& i : phase.instructions)
        if (starts(i) && i.index < at.graph().carried_transfers)
          for (const Location& l : phase.results(i)) carried.push_back(l);
    if (carried.empty()) return std::nullopt;
    Location other = one_of(at.random, carried);
    std::vector<Location*> places;
    for (std::size_t n : instructions(at, any))
      for (std::size_t k = 0; k < at.list()[n].operands; ++k) {
        Location& l = at.location(at.list()[n], k);
        if (l != other && at.type(l) == at.type(other) &&
            std::ranges::find(carried, l) != carried.end())
          places.push_back(&l);
      }
    if (places.empty()) return std::nullopt;
    Location& l = *one_of(at.random, places);
    std::string said = fmt::format("@{} is read instead of @{}", other.offset, l.offset);
    l = other;
    return said;
  }
  const Graph& body = at.plan.program.graphs[at.g];
  return replace_operand(at, any, [&](const Location& before, const Location& after) {
    const Home *a = home_at(before), *b = home_at(after);
    if (a == nullptr || b == nullptr) return false;
    return is_forwarded(body, body.inputs()[a->input].value) &&
           is_forwarded(body, body.inputs()[b->input].value);
  });
}

/// Takes member k out of the start, of which nothing else remains.
void remove_member(const Site& at, std::size_t n, std::size_t k) {
  Instruction& i = at.list()[n];
  std::vector<Location> kept;
  for (std::size_t m = 0; m < i.operands; ++m)
    if (m != k) kept.push_back(at.location(i, m));
  for (std::size_t m = 0; m < i.results; ++m)
    if (m != k) kept.push_back(at.location(i, i.operands + m));
  i.locations = static_cast<std::uint32_t>(at.phase().locations.size());
  --i.operands, --i.results;
  at.phase().locations.insert(at.phase().locations.end(), kept.begin(), kept.end());
  for (Instruction& w : at.list())  // it may show the member
    if (w.kind == InstructionKind::wait && w.index == i.index) w.results = 0;
}

/// Changes an attribute of a collective on all ranks that meet in it.
Done change_collective(const Site& at, std::size_t n, std::string_view name,
                       const Attribute& value) {
  for (auto& [site, m] : with_partners(at, n)) {
    Instruction& i = site.list()[m];
    int k = i.op->attribute_index(name);
    if (k >= 0) i.attributes = i.attributes.with(static_cast<std::size_t>(k), value);
  }
  return fmt::format("{} of {} is {}", name, n, to_text(value));
}

/// The same collective of other ranks.
Done wrong_group(const Site& at, std::size_t n) {
  const World& world = *at.plan.program.world;
  const Instruction& i = at.list()[n];
  std::string now = attribute<std::string>(*i.op, i.attributes, "group");
  std::vector<std::string> others;
  for (std::string_view name : world.group_names())
    if (name != now && world.group_size(name) == world.group_size(now)) others.emplace_back(name);
  if (others.empty()) return std::nullopt;
  std::string other = one_of(at.random, others);
  for (auto& [site, m] : with_partners(at, n)) {
    auto& groups = site.graph().groups;
    auto lane = std::ranges::find(groups, other);
    if (lane == groups.end()) lane = groups.insert(lane, other);
    site.list()[m].lane = static_cast<std::uint16_t>(lane - groups.begin() + 1);
  }
  return change_collective(at, n, "group", Attribute(other));
}

Done wrong_member(const Site& at) {
  std::vector<std::size_t> calls = instructions(at, starts);
  if (!calls.empty() && chance(at.random, 25))
    if (Done done = wrong_group(at, one_of(at.random, calls))) return done;
  std::vector<std::size_t> buckets = instructions(
      at, [](const Instruction& i) { return starts(i) && i.operands > 1 && i.results > 1; });
  if (!buckets.empty() && chance(at.random, 50)) {
    std::size_t n = one_of(at.random, buckets), k = below(at.random, at.list()[n].operands);
    auto partners = with_partners(at, n);
    for (auto& [site, m] : partners)
      if (k < site.list()[m].operands && site.list()[m].operands > 1) remove_member(site, m, k);
    return fmt::format("member {} of {} is missing", k, n);
  }
  return replace_operand(
      at,
      [](const Instruction& i) {
        return starts(i) && i.op->collective->kind != CollectiveKind::send;
      },
      [](const Location&, const Location&) { return true; });
}

Done wrong_reduction(const Site& at) {
  std::vector<std::size_t> some = instructions(at, [](const Instruction& i) {
    return starts(i) && (i.op->collective->reduces || i.op->collective->rooted());
  });
  if (some.empty()) return std::nullopt;
  std::size_t n = one_of(at.random, some);
  const Instruction& i = at.list()[n];
  if (i.op->collective->rooted() && (!i.op->collective->reduces || chance(at.random, 50))) {
    std::string_view peer = i.op->collective->peer;
    auto root = attribute<std::int64_t>(*i.op, i.attributes, peer);
    return change_collective(at, n, peer, root == 0 ? std::int64_t{1} : std::int64_t{0});
  }
  constexpr std::array<const char*, 5> names = {"sum", "avg", "max", "min", "product"};
  std::string now = attribute<std::string>(*i.op, i.attributes, "reduce");
  std::string other = names[below(at.random, names.size())];
  if (other == now) return std::nullopt;
  return change_collective(at, n, "reduce", Attribute(other));
}

std::optional<Attribute> changed(const Attribute& a, Random& random) {
  auto number = [&](std::int64_t v) { return v + (chance(random, 50) ? 1 : -1); };
  if (const auto* v = std::get_if<std::int64_t>(&a)) return Attribute(number(*v));
  if (const auto* v = std::get_if<double>(&a)) return Attribute(*v == 0 ? 0.5 : *v * 1.5);
  if (const auto* v = std::get_if<bool>(&a)) return Attribute(!*v);
  if (const auto* v = std::get_if<Ints>(&a)) {
    if (v->empty()) return std::nullopt;
    Ints list = *v;
    if (list.size() > 1 && chance(random, 50))
      std::swap(list[0], list[1 + below(random, list.size() - 1)]);
    else
      list[below(random, list.size())] = number(list[below(random, list.size())]);
    if (list == *v) return std::nullopt;
    return Attribute(list);
  }
  if (const auto* v = std::get_if<Floats>(&a)) {
    if (v->empty()) return std::nullopt;
    Floats list = *v;
    double& x = list[below(random, list.size())];
    x = x == 0 ? 0.5 : x * 1.5;
    return Attribute(list);
  }
  return std::nullopt;
}

Done wrong_attribute(const Site& at) {
  std::vector<std::size_t> some = instructions(at, [](const Instruction& i) {
    return i.kind == InstructionKind::kernel && !i.attributes.values().empty();
  });
  if (some.empty()) return std::nullopt;
  std::size_t n = one_of(at.random, some);
  Instruction& i = at.list()[n];
  std::size_t k = below(at.random, i.attributes.values().size());
  std::optional<Attribute> value = changed(i.attributes.values()[k], at.random);
  if (!value) return std::nullopt;
  i.attributes = i.attributes.with(k, *value);
  return fmt::format("{} of {} is {}", i.op->attributes[k].name, n, to_text(*value));
}

/// Kernels need a workspace of just their size.
void make_room(const Site& at, Instruction& i) {
  if (i.backend != 0) return;
  std::vector<Type> operands, results;
  for (const Location& l : at.phase().operands(i)) operands.push_back(at.type(l));
  for (const Location& l : at.phase().results(i)) results.push_back(at.type(l));
  try {
    std::int64_t bytes =
        prepare_reference({*i.op, i.attributes, operands, results, *at.plan.program.world})
            ->workspace_bytes;
    if (bytes == i.workspace_bytes) return;
    i.workspace_bytes = bytes;
    i.workspace = (at.graph().arena_bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
    at.graph().arena_bytes = i.workspace + bytes;
  } catch (const Error&) {  // types that the verifier refuses
  }
}

/// Another elementwise op with as many operands and no attributes.
Done wrong_op(const Site& at) {
  std::vector<std::size_t> some = instructions(at, [](const Instruction& i) {
    return i.kind == InstructionKind::kernel && i.op->body != nullptr && i.op->attributes.empty();
  });
  if (some.empty()) return std::nullopt;
  std::size_t n = one_of(at.random, some);
  Instruction& i = at.list()[n];
  std::vector<const Op*> others;
  for (const Op* op : ops::all())
    if (op != i.op && op->body != nullptr && op->attributes.empty() &&
        op->operands.size() == i.op->operands.size())
      others.push_back(op);
  if (others.empty()) return std::nullopt;
  i.op = one_of(at.random, others);
  make_room(at, i);
  return fmt::format("{} is {}", n, i.op->name);
}

/// Two outputs (inputs) of one type.
Done exchange(const Site& at, InstructionKind kind) {
  std::vector<std::size_t> all =
      instructions(at, [&](const Instruction& i) { return i.kind == kind; });
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a : all)
    for (std::size_t b : all)
      if (a < b && at.type(at.location(at.list()[a], 0)) == at.type(at.location(at.list()[b], 0)))
        pairs.emplace_back(a, b);
  if (pairs.empty()) return std::nullopt;
  auto [a, b] = one_of(at.random, pairs);
  std::swap(at.list()[a].index, at.list()[b].index);
  return fmt::format("{} and {} are exchanged", a, b);
}

Done exchange_inputs(const Site& at) {
  if (chance(at.random, 50))
    if (Done done = exchange(at, InstructionKind::input)) return done;
  std::set<std::int64_t> fed;  // or one of them twice
  for (const Instruction& i : at.list())
    if (i.kind == InstructionKind::input) fed.insert(at.location(i, 0).offset);
  return replace_operand(at, computes, [&](const Location& before, const Location& after) {
    return fed.contains(before.offset) && fed.contains(after.offset);
  });
}

bool writes_home(const Site& at, const Instruction& i) {
  for (const Location& l : at.phase().results(i))
    for (const Home& home : at.graph().homes)
      if (home.location.offset == l.offset && home.kind == HomeKind::state) return true;
  return false;
}

Done drop_update(const Site& at) {
  std::vector<std::size_t> some =
      instructions(at, [&](const Instruction& i) { return computes(i) && writes_home(at, i); });
  if (some.empty()) return std::nullopt;
  std::size_t n = one_of(at.random, some);
  at.list().erase(at.list().begin() + static_cast<std::ptrdiff_t>(n));
  return fmt::format("update {} is dropped", n);
}

Done do_twice(const Site& at) {
  std::vector<std::size_t> some = instructions(at, [&](const Instruction& i) {
    if (i.kind != InstructionKind::kernel) return false;
    for (const Location& l : at.phase().results(i))  // in place
      if (std::ranges::find(at.phase().operands(i), l) != at.phase().operands(i).end()) return true;
    return false;
  });
  if (some.empty()) return std::nullopt;
  std::size_t n = one_of(at.random, some);
  Instruction again = at.list()[n];
  at.list().insert(at.list().begin() + static_cast<std::ptrdiff_t>(n), again);
  return fmt::format("{} is done twice", n);
}

/// An instruction runs behind one that writes what it reads, or reads what it writes.
Done do_late(const Site& at) {
  std::vector<std::size_t> some = instructions(at, computes);
  if (some.size() < 2) return std::nullopt;
  std::size_t k = below(at.random, some.size() - 1);
  std::size_t from = some[k];
  std::size_t to = some[k + 1 + below(at.random, std::min<std::size_t>(4, some.size() - 1 - k))];
  Instruction i = at.list()[from];
  at.list().erase(at.list().begin() + static_cast<std::ptrdiff_t>(from));
  at.list().insert(at.list().begin() + static_cast<std::ptrdiff_t>(to), i);
  return fmt::format("{} is done behind {}", from, to);
}

}  // namespace

std::optional<std::string> mistake(Plan& plan, Mistake kind, Random& random) {
  std::size_t g = below(random, plan.graphs.size());
  Site at{plan, g, below(random, plan.graphs[g].phases.size()), random};
  Done done;
  switch (kind) {
    case Mistake::operands:
      done = swap_operands(at);
      break;
    case Mistake::stale:
      done = read_stale(at);
      break;
    case Mistake::slot:
      done = wrong_slot(at);
      break;
    case Mistake::member:
      done = wrong_member(at);
      break;
    case Mistake::reduction:
      done = wrong_reduction(at);
      break;
    case Mistake::attribute:
      done = wrong_attribute(at);
      break;
    case Mistake::op:
      done = wrong_op(at);
      break;
    case Mistake::outputs:
      done = exchange(at, InstructionKind::output);
      break;
    case Mistake::inputs:
      done = exchange_inputs(at);
      break;
    case Mistake::update:
      done = drop_update(at);
      break;
    case Mistake::twice:
      done = do_twice(at);
      break;
    case Mistake::order:
      done = do_late(at);
      break;
  }
  if (done)
    done = fmt::format("{}, {}: {}", plan.program.graphs[g].name(),
                       window_name(plan.shape, at.phase().window), *done);
  return done;
}

}  // namespace hocket::testing
