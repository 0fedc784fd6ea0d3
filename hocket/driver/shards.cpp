#include "hocket/driver/shards.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/element_rows.h"

namespace hocket {

const Graph& graph_of(const Program& program, std::size_t rank) {
  return program.graph_of(program.world->ranks() == 1 ? 0 : static_cast<int>(rank));
}

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

std::size_t number_of(const Graph& graph, const Program& program) {
  return static_cast<std::size_t>(&graph - program.graphs.data());
}

/// For every input of a graph of `to`, the index of the one of that name in the graph of `from`
/// with the same number; none where it has none.
class Matches {
 public:
  Matches(const Program& from, const Program& to) {
    for (std::size_t i = 0; i < to.graphs.size(); ++i) {
      auto& list = table_.emplace_back();
      std::map<std::string, std::size_t> known;
      const Graph &a = from.graphs.at(i), &b = to.graphs[i];
      for (std::size_t k = 0; k < a.inputs().size(); ++k)
        known.emplace(a.name(a.inputs()[k].value), k);
      for (const Input& in : b.inputs()) {
        auto it = known.find(b.name(in.value));
        list.push_back(it == known.end() ? std::nullopt : std::optional(it->second));
      }
    }
  }
  const std::vector<std::optional<std::size_t>>& of(std::size_t graph) const {
    return table_[graph];
  }

 private:
  std::vector<std::vector<std::optional<std::size_t>>> table_;
};

/// Whether passes have made a shard of what was whole.
bool became_shard(const Input& before, const Input& now) { return now.shard && !before.shard; }

/// The pieces one behind the other, as far as the type goes.
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

// ---- what must start equal

/// By value: the group of a gather that it is computed from without a sum over ranks or the next
/// value of a state in between, null when there is none. O(graph).
std::vector<const std::string*> gathered_over(const Graph& g) {
  std::vector<const std::string*> group(g.value_bound());
  std::vector<Value> open;
  auto reach = [&](Value v, const std::string* over) {
    if (group[v.index] != nullptr) return;
    group[v.index] = over;
    open.push_back(v);
  };
  for (NodeId n : g.nodes())
    if (g[n].op == &ops::all_gather)
      for (Value v : g.results(n)) reach(v, &g[n].attr<std::string>("group"));
  std::unordered_map<Value, std::vector<Value>> takers;  // forwarded state by what it takes over
  std::vector<bool> is_next(g.value_bound());            // of other state
  for (const Input& in : g.inputs()) {
    Value next = g.next(in.value);
    if (next && in.kind == StateKind::forwarded) takers[next].push_back(in.value);
    if (next && in.kind != StateKind::forwarded) is_next[next.index] = true;
  }
  while (!open.empty()) {
    Value v = open.back();
    open.pop_back();
    if (is_next[v.index]) continue;
    if (auto it = takers.find(v); it != takers.end())
      for (Value state : it->second) reach(state, group[v.index]);
    for (Use use : g.uses(v)) {
      const Op* op = g[use.node].op;
      if (use.node == g.return_node() || op == &ops::reduce_scatter || op == &ops::all_reduce)
        continue;
      for (Value result : g.results(use.node)) reach(result, group[v.index]);
    }
  }
  return group;
}

/// State of the program that pieces are computed from, with the group that it must be equal in.
class Shared {
 public:
  Shared(const Graph& source, const Graph& program) : source_(source), g_(program) {
    for (std::size_t i = 0; i < g_.inputs().size(); ++i) index_[g_.inputs()[i].value] = i;
    if (is_rotated(g_)) lags_.emplace(g_);
    auto gathered = gathered_over(program), gathered_before = gathered_over(source);
    for (const Input& in : program.inputs()) {
      Value before = source.find(program.name(in.value));
      if (!before || !in.state) continue;
      look_at(before, in);
      // Its update comes out of pieces only since the pass: they may be of anything.
      Value next = g_.next(in.value), next_before = source.next(before);
      if (next && gathered[next.index] != nullptr && next_before &&
          gathered_before[next_before.index] == nullptr)
        collect(in.value, *gathered[next.index]);
    }
  }
  /// By input.
  const std::set<std::pair<std::size_t, std::string>>& found() const { return found_; }

 private:
  /// A shard of the pass's making, or a parameter that it cuts a piece out of.
  void look_at(Value before, const Input& in) {
    if (became_shard(source_.input(before), in)) return collect(in.value, in.shard->group);
    const std::string* group = cut_over(g_, in.value);
    if (group != nullptr && cut_over(source_, before) == nullptr) collect(in.value, *group);
  }

  /// What the source has in pieces differs between ranks as it should.
  bool was_piece(Value v) const {
    Value before = source_.find(g_.name(v));
    return before && source_.is_input(source_.node(before)) && source_.input(before).shard;
  }

  /// Equal on all ranks of the group whatever its operands are. A gather of the pass's making is
  /// not meant: its pieces must be those of the source's value.
  bool levels(const Node& node, Value v, const std::string& group) const {
    if (node.op == &ops::reduce_scatter || node.op == &ops::all_reduce) return true;
    if (node.op != &ops::all_gather && node.op != &ops::broadcast_from) return false;
    Value before = source_.find(g_.name(v));
    return before && source_[source_.node(before)].op == node.op &&
           node.attr<std::string>("group") == group;
  }

  /// The group that a state is cut over, before or behind its update: who reads it an iteration
  /// later reads the new value. None when nobody cuts it.
  static const std::string* cut_over(const Graph& g, Value state) {
    for (Value v : {state, g.next(state)})
      if (v)
        for (Use use : g.uses(v))
          if (g[use.node].op == &ops::shard) return &g[use.node].attr<std::string>("group");
    return nullptr;
  }

  /// Everything that the next value comes from, up to what is summed over ranks.
  void collect(Value state, const std::string& group) {
    std::vector<bool>& seen = seen_[group];
    seen.resize(g_.value_bound());
    std::vector<Value> open{state};
    if (Value next = g_.next(state)) open.push_back(next);
    while (!open.empty()) {
      Value v = open.back();
      open.pop_back();
      if (seen[v.index]) continue;
      seen[v.index] = true;
      const Node& node = g_[g_.node(v)];
      if (g_.is_input(g_.node(v))) {
        const Input& in = g_.input(v);
        if (in.kind == StateKind::forwarded && in.state) {
          if (Value next = g_.next(v)) open.push_back(next);
        } else if (in.state && !was_piece(v)) {
          found_.emplace(index_.at(v), group);
        }
      } else if (!levels(node, v, group)) {
        follow(node, v, open);
      }
    }
  }

  /// In lists every tensor goes its own way. Who runs ahead of an update reads the state.
  void follow(const Node& node, Value v, std::vector<Value>& open) const {
    auto push = [&](Value operand) {
      open.push_back(lags_ ? lags_->meaning(g_.node(v), operand) : operand);
    };
    std::uint32_t result = v.index - node.first_result;
    if (node.op->starts || node.op->waits) return push(node.inputs[result]);
    if (!has_lists(node)) {
      std::ranges::for_each(node.inputs, push);
      return;
    }
    std::uint32_t length = list_length(node);
    for (std::size_t s = 0; s < node.attributes.list_sizes().size(); ++s) {
      std::span<const Value> operands = node.slot(s);
      if (node.op->operands[s].count != Count::many)
        std::ranges::for_each(operands, push);
      else if (!operands.empty())
        push(operands[result % length]);
    }
  }

  const Graph& source_;
  const Graph& g_;
  std::map<Value, std::size_t> index_;
  std::optional<Lags> lags_;                       // of a rotated body
  std::map<std::string, std::vector<bool>> seen_;  // by group and value
  std::set<std::pair<std::size_t, std::string>> found_;
};

void require_equal_start(const Program& source, const Program& program, const InputTables& tables,
                         const Matches& matches) {
  std::vector<std::set<std::pair<std::size_t, std::string>>> shared;
  for (std::size_t i = 0; i < program.graphs.size(); ++i)
    shared.push_back(Shared(source.graphs[i], program.graphs[i]).found());
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = graph_of(program, r);
    std::size_t number = number_of(g, program);
    std::map<std::string, std::size_t, std::less<>> first;  // of this rank's set, by group
    for (const auto& [input, group] : shared[number]) {
      auto at = matches.of(number)[input];
      if (!at || !tables[r][*at]) continue;
      auto [it, fresh] = first.emplace(group, 0);
      if (fresh)
        it->second =
            static_cast<std::size_t>(program.world->members(group, static_cast<int>(r)).at(0));
      if (!same_bits(tables[r][*at], tables[it->second][*at]))
        fail(
            "state %{}: ranks {} and {} start with different values, wanted equal ones: group {} "
            "updates it in pieces",
            g.name(g.inputs()[input].value), it->second, r, hocket::quoted(group));
    }
  }
}

}  // namespace

InputTables shard_state(const Program& source, const Program& program, const InputTables& tables) {
  Matches matches(source, program);
  if (program.world->ranks() > 1) require_equal_start(source, program, tables, matches);
  InputTables result;
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = graph_of(program, r);
    const Graph& before = graph_of(source, r);
    std::size_t number = number_of(g, program);
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
  Matches matches(program, source);
  InputTables result;
  for (std::size_t r = 0; r < tables.size(); ++r) {
    const Graph& g = graph_of(source, r);
    const Graph& now = graph_of(program, r);
    std::size_t number = number_of(g, source);
    auto& row = result.emplace_back(g.inputs().size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto at = matches.of(number)[i];
      if (!at || !tables[r].at(*at)) continue;
      const Input& in = now.inputs()[*at];
      row[i] = tables[r][*at];
      if (!became_shard(g.inputs()[i], in)) continue;
      // The first rank of a set puts the pieces together, and the others hold the same bytes.
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
