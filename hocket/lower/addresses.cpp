#include "hocket/lower/addresses.h"

#include <algorithm>
#include <functional>
#include <map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/lower/place_blocks.h"

namespace hocket {
namespace {

/// Storages and workspaces that live in one phase, as blocks.
struct Blocks {
  std::vector<Block> blocks;
  std::vector<std::uint32_t> of_storage, of_workspace;  // `none` where there is none
};

Blocks blocks_of(const Sketch& s) {
  Blocks b;
  b.of_storage.resize(s.storages.size(), nowhere);
  b.of_workspace.resize(s.instructions.size(), nowhere);
  auto add = [&](Block block) {
    b.blocks.push_back(block);
    return static_cast<std::uint32_t>(b.blocks.size() - 1);
  };
  for (StorageNumber i = 0; i < s.storages.size(); ++i)
    if (s.storages.is_whole(i) && s.storages.region(i) == nowhere && s.storages.bytes(i) > 0 &&
        s.storages.first(i) != nowhere)
      b.of_storage[i] = add({s.storages.bytes(i), s.storages.first(i), s.storages.last(i)});
  for (std::uint32_t i = 0; i < s.instructions.size(); ++i)
    if (s.instructions[i].workspace_bytes > 0)
      b.of_workspace[i] = add({aligned(s.instructions[i].workspace_bytes), i, i});
  return b;
}

/// The instruction at which most bytes are alive.
std::uint32_t fullest(std::span<const Block> blocks) {
  std::map<std::uint32_t, std::int64_t> change;
  for (const Block& b : blocks) {
    change[b.first] += b.bytes;
    change[b.last + 1] -= b.bytes;
  }
  std::int64_t live = 0, most = 0;
  std::uint32_t at = 0;
  for (auto [instruction, bytes] : change)
    if ((live += bytes) > most) {
      most = live;
      at = instruction;
    }
  return at;
}

/// What is alive at the fullest instant of a phase, the largest first.
std::string peak_text(ClassContext& c, const Sketch& s, const Blocks& b, std::int64_t kept) {
  constexpr std::size_t most_named = 5;
  std::uint32_t at = std::min(fullest(b.blocks), s.size() - 1);
  std::vector<std::pair<std::int64_t, std::string>> alive;
  if (kept > 0) alive.emplace_back(kept, "state and constants");
  for (StorageNumber i = 0; i < s.storages.size(); ++i)
    if (b.of_storage[i] != nowhere)
      if (const Block& block = b.blocks[b.of_storage[i]]; block.first <= at && at <= block.last)
        alive.emplace_back(block.bytes, c.labels.text(s.instructions[block.first].label));
  if (b.of_workspace[at] != nowhere)
    alive.emplace_back(b.blocks[b.of_workspace[at]].bytes, "workspace");
  std::ranges::stable_sort(alive, std::greater<>{}, [](const auto& a) { return a.first; });
  std::string text = fmt::format("at {}", c.labels.text(s.instructions[at].label));
  for (std::size_t i = 0; i < alive.size() && i < most_named; ++i)
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", alive[i].second, alive[i].first);
  if (alive.size() > most_named) text += fmt::format(" and {} more", alive.size() - most_named);
  return text;
}

struct Arena {
  std::int64_t bytes = 0;
  std::string peak;  // of the phase that needs most
};

PlanPhase place(ClassContext& c, Sketch& s, const std::vector<std::int64_t>& region_offsets,
                std::int64_t kept, std::int64_t limit, Arena& arena) {
  Blocks b = blocks_of(s);
  Placement placement = place_blocks(b.blocks);
  std::int64_t bytes = kept + placement.bytes;
  if (limit > 0 && bytes > limit && bytes > arena.bytes && s.size() > 0)
    arena.peak = peak_text(c, s, b, kept);
  arena.bytes = std::max(arena.bytes, bytes);
  PlanPhase out{.window = s.window,
                .instructions = std::move(s.instructions),
                .transfers = static_cast<std::uint32_t>(s.transfers.size())};
  for (std::size_t i = 0; i < out.instructions.size(); ++i)
    if (b.of_workspace[i] != nowhere)
      out.instructions[i].workspace = kept + placement.offsets[b.of_workspace[i]];
  out.locations.reserve(s.refs.size());
  for (const Ref& r : s.refs) {
    Storages::Part part = s.storages.find(r.storage);
    std::int64_t base = 0;
    if (std::uint32_t region = s.storages.region(part.whole); region != nowhere)
      base = region_offsets[region];
    else if (b.of_storage[part.whole] != nowhere)
      base = kept + placement.offsets[b.of_storage[part.whole]];
    out.locations.push_back({base + part.offset + r.offset, r.type, r.layout});
  }
  return out;
}

std::vector<Home> homes_of(ClassContext& c, const std::vector<std::int64_t>& offsets) {
  std::vector<Home> homes;
  auto location = [&](RegionPart p, const Type& type) {
    return Location{offsets[p.region] + p.offset, c.tables.type(type), c.tables.row_major(type)};
  };
  for (std::uint32_t i = 0; i < c.body.inputs().size(); ++i) {
    const Type& type = c.body.type(c.body.inputs()[i].value);
    for (int slot = 0; const RegionPart* p = c.carries.state(i, slot); ++slot)
      homes.push_back(
          {HomeKind::state, i, static_cast<std::uint32_t>(slot), "", location(*p, type.ready())});
  }
  for (const auto& [name, constant] : c.carries.constants())
    homes.push_back({HomeKind::constant, 0, 0, name, location(constant.part, constant.type)});
  return homes;
}

}  // namespace

PlanGraph with_addresses(ClassContext& c, std::span<Sketch> sketches, std::int64_t limit) {
  PlanGraph out;
  std::vector<std::int64_t> offsets;
  std::int64_t kept = 0;
  for (const Region& r : c.carries.regions()) {
    offsets.push_back(kept);
    kept += aligned(r.bytes);
  }
  Arena arena{kept, {}};
  for (Sketch& s : sketches) {
    out.phases.push_back(place(c, s, offsets, kept, limit, arena));
    s = {};
  }
  out.arena_bytes = arena.bytes;
  if (limit > 0 && out.arena_bytes > limit)
    fail("memory limit {}: graph {} needs at least {} bytes{}{}", limit, c.body.name(),
         out.arena_bytes, arena.peak.empty() ? "" : ", ", arena.peak);
  out.groups = c.groups;
  out.homes = homes_of(c, offsets);
  out.carried_transfers = c.carries.transfers();
  out.labels = c.labels.take();
  return out;
}

}  // namespace hocket
