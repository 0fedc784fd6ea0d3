#include "hocket/ir/world.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/names.h"

namespace hocket {

World::World(std::vector<Axis> mesh, std::vector<ListedGroup> groups) {
  std::int64_t product = 1;
  if (mesh.size() > max_axes) fail("mesh: more than {} axes", max_axes);
  for (Axis& a : mesh) {
    if (!is_identifier(a.name))
      fail("mesh: axis {}: a name has letters, digits and '_' only", quoted(a.name));
    if (is_taken(a.name)) fail("mesh: the name '{}' is taken", a.name);
    if (a.size < 1) fail("mesh: axis '{}' has size {}, wanted at least 1", a.name, a.size);
    if (a.size > max_ranks || (product *= a.size) > max_ranks)
      fail("mesh: more than {} ranks", max_ranks);
    mesh_.push_back(std::move(a));
  }
  ranks_ = static_cast<int>(product);
  for (ListedGroup& g : groups) add_group(std::move(g));
}

bool World::is_taken(std::string_view name) const {
  return name == "world" || std::ranges::find(mesh_, name, &Axis::name) != mesh_.end() ||
         listed_.contains(name);
}

void World::add_group(ListedGroup g) {
  if (g.name.empty() || g.name.find(',') != g.name.npos)
    fail("group {}: a name is not empty and has no comma, which joins axes", quoted(g.name));
  if (is_taken(g.name)) fail("group {}: the name is taken", quoted(g.name));
  if (g.sets.empty() || g.sets.front().empty()) fail("group {}: no ranks", quoted(g.name));
  Places places{groups_.size(), {}};
  for (std::size_t s = 0; s < g.sets.size(); ++s) {
    if (g.sets[s].size() != g.sets.front().size())
      fail("group {}: sets of {} and {} ranks, wanted equal sizes", quoted(g.name),
           g.sets.front().size(), g.sets[s].size());
    for (int r : g.sets[s]) {
      if (r < 0 || r >= ranks_)
        fail("group {}: rank {} in a world of {}", quoted(g.name), r, count_of(ranks_, "rank"));
      places.set_of.emplace_back(r, s);
    }
  }
  std::ranges::sort(places.set_of);
  auto twice = std::ranges::adjacent_find(places.set_of, {}, &std::pair<int, std::size_t>::first);
  if (twice != places.set_of.end()) fail("group {}: rank {} twice", quoted(g.name), twice->first);
  listed_.emplace(g.name, std::move(places));
  groups_.push_back(std::move(g));
}

std::vector<std::string_view> World::group_names() const {
  std::vector<std::string_view> names{"world"};
  for (const Axis& a : mesh_) names.push_back(a.name);
  for (const ListedGroup& g : groups_) names.push_back(g.name);
  return names;
}

/// The axes in a name like `dp,tp`; nothing if a part is not an axis or is repeated.
std::optional<std::vector<bool>> World::chosen_axes(std::string_view group) const {
  std::vector<bool> chosen(mesh_.size());
  if (group == "world") {
    chosen.assign(mesh_.size(), true);
    return chosen;
  }
  for (std::string_view part : split(group, ',')) {
    auto axis =
        std::find_if(mesh_.begin(), mesh_.end(), [&](const Axis& a) { return a.name == part; });
    if (axis == mesh_.end() || chosen[axis - mesh_.begin()]) return std::nullopt;
    chosen[axis - mesh_.begin()] = true;
  }
  return chosen;
}

std::optional<std::int64_t> World::group_size(std::string_view group) const {
  if (group == "world") return ranks_;
  if (auto it = listed_.find(group); it != listed_.end())
    return static_cast<std::int64_t>(groups_[it->second.group].sets.front().size());
  auto chosen = chosen_axes(group);
  if (!chosen) return std::nullopt;
  std::int64_t size = 1;
  for (std::size_t i = 0; i < mesh_.size(); ++i)
    if ((*chosen)[i]) size *= mesh_[i].size;
  return size;
}

std::optional<int> World::outsider(std::string_view group, const std::vector<int>& ranks) const {
  auto it = listed_.find(group);
  if (it == listed_.end()) return std::nullopt;
  const auto& inside = it->second.set_of;
  if (ranks.empty()) {  // all ranks: the first gap in the ascending list
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (inside[i].first != static_cast<int>(i)) return static_cast<int>(i);
    if (static_cast<int>(inside.size()) < ranks_) return static_cast<int>(inside.size());
    return std::nullopt;
  }
  // At most as many ranks as the group has can be in it, so the loop ends at the latest with the
  // next one.
  for (int r : ranks)
    if (!std::ranges::binary_search(inside, r, {}, &std::pair<int, std::size_t>::first)) return r;
  return std::nullopt;
}

std::vector<int> World::members(std::string_view group, int rank) const {
  if (auto it = listed_.find(group); it != listed_.end()) {
    const auto& places = it->second.set_of;
    auto at = std::ranges::lower_bound(places, rank, {}, &std::pair<int, std::size_t>::first);
    if (at == places.end() || at->first != rank) return {};
    return groups_[it->second.group].sets[at->second];
  }
  auto chosen = chosen_axes(group);
  if (!chosen || rank < 0 || rank >= ranks_) return {};
  // Starts from this rank with its chosen coordinates set to zero, and varies every chosen axis,
  // the last one fastest.
  std::vector<int> strides(mesh_.size(), 1);
  for (std::size_t i = mesh_.size(); i-- > 1;)
    strides[i - 1] = strides[i] * static_cast<int>(mesh_[i].size);
  std::vector<int> ranks{rank};
  for (std::size_t i = 0; i < mesh_.size(); ++i)
    if ((*chosen)[i]) ranks[0] -= rank / strides[i] % static_cast<int>(mesh_[i].size) * strides[i];
  for (std::size_t i = 0; i < mesh_.size(); ++i) {
    if (!(*chosen)[i]) continue;
    std::vector<int> wider;
    for (int r : ranks)
      for (int k = 0; k < mesh_[i].size; ++k) wider.push_back(r + k * strides[i]);
    ranks = std::move(wider);
  }
  return ranks;
}

}  // namespace hocket
