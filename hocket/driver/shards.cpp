#include "hocket/driver/shards.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/driver/input_map.h"

namespace hocket {

Tensor piece_of(const Tensor& whole, const World& world, const std::string& group, std::size_t rank,
                const Type& type) {
  auto members = world.members(group, static_cast<int>(rank));
  auto index = static_cast<std::size_t>(std::ranges::find(members, static_cast<int>(rank)) -
                                        members.begin());
  Tensor piece(type);
  auto from = whole.bytes();
  auto to = piece.bytes();
  std::size_t start = std::min(index * to.size(), from.size());
  std::size_t here = std::min(to.size(), from.size() - start);
  if (here > 0) std::memcpy(to.data(), from.data() + start, here);
  if (here < to.size()) std::memset(to.data() + here, 0, to.size() - here);
  return piece;
}

namespace {

/// True when passes have sharded an input.
bool became_shard(const Input& before, const Input& now) { return now.shard && !before.shard; }

/// The concatenated pieces, without the padding at the end.
Tensor whole_of(const std::vector<const Tensor*>& pieces, const Type& type) {
  Tensor whole(type);
  auto to = whole.bytes();
  std::size_t at = 0;
  for (const Tensor* piece : pieces) {
    std::size_t here = std::min(piece->bytes().size(), to.size() - at);
    if (here > 0) std::memcpy(to.data() + at, piece->bytes().data(), here);
    at += here;
  }
  return whole;
}

/// Compares values that must start equal, by group and name of the input: in each set of ranks,
/// with the first value seen.
class EqualStarts {
 public:
  explicit EqualStarts(const World& world) : world_(world) {}

  /// Error when another rank of the set has another value.
  void check(const std::string& group, const std::string& name, std::size_t rank,
             const Tensor& value, std::string_view why) {
    auto& first = first_[{group, name}][set_of(group, rank)];
    if (first.value == nullptr)
      first = {rank, &value};
    else if (!same_bits(value, *first.value))
      fail(
          "state %{}: ranks {} and {} start with different values, wanted equal ones in group {}{}",
          name, first.rank, rank, hocket::quoted(group), why);
  }

 private:
  struct First {
    std::size_t rank = 0;
    const Tensor* value = nullptr;
  };

  int set_of(const std::string& group, std::size_t rank) {
    auto [it, fresh] = sets_.emplace(group, std::vector<int>{});
    auto& lowest = it->second;  // by rank: the lowest rank of its set
    if (fresh) lowest.assign(static_cast<std::size_t>(world_.ranks()), -1);
    if (lowest[rank] < 0) {
      std::vector<int> members = world_.members(group, static_cast<int>(rank));
      int first = std::ranges::min(members);
      for (int m : members) lowest[static_cast<std::size_t>(m)] = first;
    }
    return lowest[rank];
  }

  const World& world_;
  // The first value seen, keyed by (group, input name) and then by the lowest rank of the set.
  std::map<std::pair<std::string, std::string>, std::map<int, First>> first_;
  std::map<std::string, std::vector<int>> sets_;
};

/// Checks inputs that are marked as equal, and those that passes have sharded.
void require_equal_start(const Program& source, const Program& program, const InputTables& tables,
                         const InputMap& matches) {
  EqualStarts starts(*program.world);
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    std::size_t number = program.graph_index(static_cast<int>(r));
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      auto at = matches.of(number)[i];
      if (!at || !tables[r][*at]) continue;
      const Input &in = g.inputs()[i], &before = source.graphs[number].inputs()[*at];
      constexpr std::string_view pieces = ", which updates in pieces";
      for (const std::string& group : in.equal) {
        bool asked = std::ranges::find(before.equal, group) != before.equal.end();
        starts.check(group, g.name(in.value), r, tables[r][*at], asked ? "" : pieces);
      }
      if (became_shard(before, in))
        starts.check(in.shard->group, g.name(in.value), r, tables[r][*at], pieces);
    }
  }
}

}  // namespace

InputTables shard_state(const Program& source, const Program& program, const InputTables& tables) {
  InputMap matches(source, program);
  if (program.world->ranks() > 1) require_equal_start(source, program, tables, matches);
  InputTables result;
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    const Graph& before = source.graph_of(static_cast<int>(r));
    std::size_t number = program.graph_index(static_cast<int>(r));
    auto& row = result.emplace_back(g.inputs().size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto at = matches.of(number)[i];
      if (!at || !tables[r].at(*at)) continue;
      const Input& in = g.inputs()[i];
      row[i] = tables[r][*at];
      if (!became_shard(before.inputs()[*at], in)) continue;
      row[i] = piece_of(row[i], *program.world, in.shard->group, r, g.type(in.value));
    }
  }
  return result;
}

InputTables unshard_state(const Program& source, const Program& program,
                          const InputTables& tables) {
  InputMap matches(program, source);
  InputTables result;
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = source.graph_of(static_cast<int>(r));
    const Graph& now = program.graph_of(static_cast<int>(r));
    std::size_t number = source.graph_index(static_cast<int>(r));
    auto& row = result.emplace_back(g.inputs().size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto at = matches.of(number)[i];
      if (!at || !tables[r].at(*at)) continue;
      const Input& in = now.inputs()[*at];
      row[i] = tables[r][*at];
      if (!became_shard(g.inputs()[i], in)) continue;
      // The first rank of a set joins the pieces, and the others share its bytes.
      std::vector<int> members = program.world->members(in.shard->group, static_cast<int>(r));
      auto first = static_cast<std::size_t>(*std::ranges::min_element(members));
      if (first < r) {
        row[i] = result[first][i];
        continue;
      }
      std::vector<const Tensor*> pieces;
      for (int m : members) pieces.push_back(&tables[static_cast<std::size_t>(m)].at(*at));
      row[i] = whole_of(pieces, in.shard->type);
    }
  }
  return result;
}

}  // namespace hocket
