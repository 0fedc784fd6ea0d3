#pragma once
// The ranks of a program: the mesh and the listed groups.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

struct Axis {
  std::string name;
  std::int64_t size;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A group given by lists of ranks: disjoint sets of equal size. The ranks of one set communicate.
struct ListedGroup {
  std::string name;
  std::vector<std::vector<int>> sets;
  friend bool operator==(const ListedGroup&, const ListedGroup&) = default;
};

/// The mesh and the listed groups; immutable once a program refers to it. A group name is `world`,
/// a listed group, or axes joined by commas (`dp,tp`). Ranks are numbered row-major over the mesh,
/// the last axis fastest.
class World {
 public:
  /// One rank.
  World() = default;
  /// Throws Error when an axis or group is malformed, repeated or names a rank out of range.
  explicit World(std::vector<Axis> mesh, std::vector<ListedGroup> groups = {});
  /// Throws the same errors. A separate function, so that the parser can report the place of each
  /// group.
  void add_group(ListedGroup group);

  int ranks() const { return ranks_; }
  const std::vector<Axis>& mesh() const { return mesh_; }
  const std::vector<ListedGroup>& groups() const { return groups_; }
  std::vector<std::string_view> group_names() const;

  /// Number of ranks in each set of the group, or nothing for an unknown name.
  std::optional<std::int64_t> group_size(std::string_view group) const;
  /// The set of the group that `rank` belongs to, in the order in which it is written; empty if it
  /// belongs to none.
  std::vector<int> members(std::string_view group, int rank) const;

  /// The first of `ranks` (of all ranks if the list is empty) that is in no set of the group. There
  /// can be one only in a listed group. O(ranks or sets of the group, whichever is smaller).
  std::optional<int> outsider(std::string_view group, const std::vector<int>& ranks) const;

  friend bool operator==(const World& a, const World& b) {
    return a.mesh_ == b.mesh_ && a.groups_ == b.groups_;
  }

 private:
  bool is_taken(std::string_view name) const;
  std::optional<std::vector<bool>> chosen_axes(std::string_view group) const;

  std::vector<Axis> mesh_;
  std::vector<ListedGroup> groups_;
  int ranks_ = 1;

  // For each listed group, by name: its ranks in ascending order, each with the index of its set.
  struct Places {
    std::size_t group;
    std::vector<std::pair<int, std::size_t>> set_of;
  };
  std::map<std::string, Places, std::less<>> listed_;
};

inline constexpr std::int64_t max_ranks = std::int64_t{1} << 20;
inline constexpr std::size_t max_axes = 64;

}  // namespace hocket
