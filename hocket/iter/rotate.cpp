#include "hocket/iter/rotate.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/place.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// How a reader gets a value: forwarded over `distance` kernel iterations or, if it runs *ahead* of
/// the update of a state, by reading the next value instead of the state.
struct Reading {
  Value value;
  int distance = 0;
  bool ahead = false;
};

/// All edits of a rotation. They are found and checked before the first is carried out.
struct Edits {
  struct Operand {
    NodeId node;
    std::uint32_t index;
    Reading reading;
  };
  struct Next {  // a state whose next value becomes an `after` with this delay
    Value state;
    Reading reading;
    int delay;
    bool behind;  // right after the value that it reads, as part of the block
  };
  struct NewOutput {
    std::size_t index;
    Reading reading;
    int late;  // not 0: the lag of an update; an `after` then distinguishes it from the state that
               // it updates
  };
  std::vector<NodeId> block;
  std::vector<Operand> operands;
  std::vector<Next> nexts;
  std::vector<NewOutput> outputs;
  NodeId first_reader;  // the first reader, outside of the block, of a result of the block
};

/// The number of readers that each forwarded state loses.
using Lost = std::unordered_map<Value, std::size_t>;

/// Forwarded state that has no readers left after losing these, directly or through other forwarded
/// state.
std::vector<Value> unread(const Graph& g, Lost lost) {
  std::vector<Value> found;
  auto check = [&](Value v) {
    auto it = lost.find(v);
    if ((it == lost.end() ? 0 : it->second) == g.uses(v).size()) found.push_back(v);
  };
  for (const Input& in : g.inputs())
    if (is_forwarded(g, in.value)) check(in.value);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (Value next = g.next(found[i]); next && is_forwarded(g, next)) {
      ++lost[next];
      check(next);
    }
  return found;
}

// ---- finding the edits

class EditFinder {
 public:
  EditFinder(const Graph& g, std::span<const NodeId> nodes, int k, const RotateOptions& options)
      : g_(g), lags_(g), k_(k), options_(options), moved_(g.node_bound()) {
    if (k < 1) fail("rotate: by {} iterations, wanted at least 1", k);
    for (NodeId n : nodes) {
      if (!g.contains(n) || g.is_input(n) || n == g.return_node())
        internal_fail("rotate: {} is no node that can move", n.index);
      if (g[n].delay > max_delay - k) fail("{}: a delay above {}", g.describe(n), max_delay);
      moved_[n.index] = !lags_.timeless(n);
    }
    NodeId place = options.before;
    if (!place) return;
    if (!g.contains(place) || g.is_input(place))
      internal_fail("rotate: there is no place {}", place.index);
    if (moved(place)) fail("{}: moves itself, wanted another destination", g.describe(place));
  }

  Edits find() {
    for (NodeId n : g_.nodes()) {
      if (moved(n)) edits_.block.push_back(n);
      if (!lags_.timeless(n)) find_operands(n);
    }
    find_outputs();
    find_nexts();
    check_destination();
    check_turns();
    return std::move(edits_);
  }

 private:
  bool moved(NodeId n) const { return moved_[n.index] != 0; }

  /// By how much the lag of a value will grow. A state lags as much as its next value; one whose
  /// next value is an input keeps its lag (see find_nexts).
  int shift(Value v) const {
    v = lags_.base(v);
    if (lags_.timeless(v)) return 0;
    if (lags_.is_state(v)) v = g_.next(v);
    return moved(g_.node(v)) ? k_ : 0;
  }

  int new_lag(Value v) const { return lags_.lag(v) + shift(v); }

  /// How a reader with this delay gets a value of its own iteration; nothing if it cannot.
  std::optional<Reading> reading(Value v, int delay) const {
    int gap = delay - new_lag(v);
    if (gap >= 0) return Reading{v, gap, false};
    if (gap == -1 && lags_.is_state(v)) return Reading{v, 0, true};
    return std::nullopt;
  }

  [[noreturn]] void refuse(Value v, int delay, const std::string& reader,
                           std::string_view advice) const {
    if (!lags_.is_state(v))
      fail(
          "{}: with delay {} it reads %{} of its own iteration, which would have delay {}; {}, or "
          "leave %{} out",
          reader, delay, g_.name(v), new_lag(v), advice, g_.name(v));
    std::string update = g_.name(g_.next(v));
    fail(
        "{}: with delay {} it reads, through %{}, %{} of the iteration before, which would have "
        "delay {}, wanted at most {}; {}, or delay %{} less",
        reader, delay, g_.name(v), update, new_lag(v), delay + 1, advice, update);
  }

  void find_operands(NodeId n) {
    const Node& node = g_[n];
    int delay = node.delay + (moved(n) ? k_ : 0);
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
      Value v = node.inputs[i];
      if (lags_.timeless(v)) continue;
      Value meant = lags_.meaning(n, v);
      if (lags_.timeless(meant)) {
        // It was read through forwarded state, whose lag would no longer match. The loop-invariant
        // value itself can be read with any delay.
        if (moved(n)) edits_.operands.push_back({n, i, {meant, 0, false}});
        continue;
      }
      if (!moved(n) && shift(meant) == 0) continue;
      auto r = reading(meant, delay);
      if (!r) refuse(meant, delay, g_.describe(n), fmt::format("move {}, too", named(n)));
      edits_.operands.push_back({n, i, *r});
      note_reader(n, *r);
    }
  }

  static std::string named(const Output& o, std::size_t index) {
    return o.name.empty() ? fmt::format("output {}", index) : "output " + o.name;
  }
  std::string named(NodeId n) const {
    return g_[n].result_count > 0 ? "%" + g_.name(g_.result(n)) : std::string(g_[n].op->name);
  }

  void note_reader(NodeId n, const Reading& r) {
    if (r.distance > 0) return;
    NodeId from = g_.node(r.ahead ? g_.next(r.value) : r.value);
    if (moved(from) && !moved(n) && !edits_.first_reader) edits_.first_reader = n;
    if (moved(n) && options_.before && from == options_.before)
      fail("{}: cannot stand before {}, which it reads", g_.describe(n), g_.describe(from));
  }

  void find_outputs() {
    std::vector<Output> outputs = g_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto [value, lag] = lags_.output(outputs[i].value);
      if (shift(value) == 0) continue;
      if (options_.outputs_may_lag)
        lag = std::max(lag, new_lag(value) - (lags_.is_state(value) ? 1 : 0));
      auto r = reading(value, lag);
      if (!r) refuse(value, lag, named(outputs[i], i), "let outputs lag");
      bool update = lag > 0 && !r->ahead && r->distance == 0 && lags_.is_next(value);
      edits_.outputs.push_back({i, *r, update ? lag : 0});
    }
  }

  /// For a reader that runs ahead of an update, the next value must stand in for one state only: if
  /// several states share a next value, all but one get an `after` node of their own. A state whose
  /// next value is another input gets an `after` node that keeps its lag.
  void find_nexts() {
    std::unordered_set<Value> owned;
    for (const Input& in : g_.inputs()) {
      if (!in.state || in.kind == StateKind::forwarded || lags_.timeless(in.value)) continue;
      Value next = g_.next(in.value);
      if (g_.is_input(g_.node(next))) {
        if (lags_.timeless(next) || shift(next) == 0) continue;
        int delay = lags_.lag(next);
        auto r = reading(lags_.base(next), delay);
        if (!r)
          refuse(lags_.base(next), delay, fmt::format("state %{}", g_.name(in.value)),
                 "rotate by 1 first");
        edits_.nexts.push_back({in.value, *r, delay, false});
      } else if (moved(g_.node(next)) && !owned.insert(next).second) {
        edits_.nexts.push_back({in.value, {next, 0, false}, new_lag(next), true});
      }
    }
  }

  void check_destination() const {
    NodeId place = options_.before, reader = edits_.first_reader;
    if (place && reader && g_.before(reader, place))
      fail("{}: as the destination it stands behind {}, which reads what is moved",
           g_.describe(place), g_.describe(reader));
  }

  /// After the edits, the slots of all forwarded state must still repeat within max_turns
  /// iterations: see Lags::turns.
  void check_turns() const {
    Lost lost;
    auto lose = [&](Value v) {
      if (is_forwarded(g_, v)) ++lost[v];
    };
    for (const Edits::Operand& o : edits_.operands) lose(g_[o.node].inputs[o.index]);
    for (const Edits::Next& n : edits_.nexts) lose(g_.next(n.state));
    std::vector<Output> outputs = g_.outputs();
    for (const Edits::NewOutput& o : edits_.outputs) lose(outputs[o.index].value);
    std::vector<Value> dropped = unread(g_, std::move(lost));
    std::unordered_set<Value> gone(dropped.begin(), dropped.end());
    int turns = 1;
    for (const Input& in : g_.inputs()) {
      if (is_forwarded(g_, in.value) && !gone.contains(in.value))
        turns = joint_turns(turns, in.slots);
      if (turns > max_turns)
        fail(
            "state %{}: its {} slots and those of others repeat after {} iterations, wanted at "
            "most {}",
            g_.name(in.value), in.slots, turns, max_turns);
    }
    auto add = [&](const Reading& r, const auto& reader) {
      if (r.distance == 0) return;
      turns = joint_turns(turns, r.distance);
      if (turns > max_turns)
        fail(
            "{}: it would read %{} through {} slots, which repeat together with those of others "
            "after {} iterations, wanted at most {}",
            reader(), g_.name(r.value), r.distance, turns, max_turns);
    };
    for (const Edits::Operand& o : edits_.operands)
      add(o.reading, [&] { return g_.describe(o.node); });
    for (const Edits::Next& n : edits_.nexts)
      add(n.reading, [&] { return fmt::format("state %{}", g_.name(n.state)); });
    for (const Edits::NewOutput& o : edits_.outputs)
      add(o.reading, [&] { return named(outputs[o.index], o.index); });
  }

  const Graph& g_;
  Lags lags_;
  int k_;
  const RotateOptions& options_;
  std::vector<char> moved_;  // by node
  Edits edits_;
};

// ---- carrying out the edits

class Editor {
 public:
  explicit Editor(Graph& g) : g_(g) {
    for (const Input& in : g.inputs())
      if (is_forwarded(g, in.value)) forwarded_.emplace(key(g.next(in.value), in.slots), in.value);
  }

  void apply(const Edits& edits, int k, NodeId place) {
    for (NodeId n : edits.block) g_.set_delay(n, g_[n].delay + k);
    for (NodeId n : edits.block) join_block(n);
    set_nexts(edits.nexts);
    for (const Edits::Operand& o : edits.operands) g_.set_operand(o.node, o.index, read(o.reading));
    set_outputs(edits.outputs);
    g_.erase_inputs(unread(g_, {}));
    if (!place) place = edits.first_reader;
    if (!place) place = g_.first_node();
    std::vector<NodeId> block;
    for (NodeId n : std::as_const(g_).nodes())
      if (n.index < in_block_.size() && in_block_[n.index] != 0) block.push_back(n);
    place_block(g_, block, place);
  }

 private:
  void join_block(NodeId n) {
    if (n.index >= in_block_.size()) in_block_.resize(g_.node_bound());
    in_block_[n.index] = 1;
  }

  static std::uint64_t key(Value v, int distance) {
    return std::uint64_t{v.index} << 32 | static_cast<std::uint32_t>(distance);
  }

  Value read(const Reading& r) {
    if (r.ahead) return g_.next(r.value);
    return r.distance == 0 ? r.value : forwarded(r.value, r.distance);
  }

  /// The state that forwards v over this distance: one for all readers.
  Value forwarded(Value v, int distance) {
    auto [it, fresh] = forwarded_.emplace(key(v, distance), Value{});
    if (!fresh) return it->second;
    std::string name = g_.name(v) + "_prev" + (distance > 1 ? std::to_string(distance) : "");
    it->second = g_.add_input(g_.type(v), name,
                              {.state = true, .kind = StateKind::forwarded, .slots = distance});
    g_.set_next(it->second, v);
    return it->second;
  }

  Value add_after(At at, Value v, std::string_view name, int delay) {
    Value operands[] = {v};
    std::string_view names[] = {name};
    return g_.result(
        g_.add(at, {.op = &ops::after, .inputs = operands, .names = names, .delay = delay}));
  }
  Value add_behind(Value v, std::string_view name, int delay) {
    Value same = add_after(after(g_, g_.node(v), g_.path(g_.node(v))), v, name, delay);
    join_block(g_.node(same));
    return same;
  }

  /// Those right after an update come first, because readers that run ahead look up the next value.
  void set_nexts(std::span<const Edits::Next> nexts) {
    for (bool behind : {true, false})
      for (const Edits::Next& n : nexts) {
        if (n.behind != behind) continue;
        std::string name = g_.name(n.state) + "_next";
        g_.set_next(n.state, behind ? add_behind(n.reading.value, name, n.delay)
                                    : add_after(g_, read(n.reading), name, n.delay));
      }
  }

  void set_outputs(std::span<const Edits::NewOutput> outputs) {
    if (outputs.empty()) return;
    std::vector<Value> values;
    for (const Output& o : g_.outputs()) values.push_back(o.value);
    for (const Edits::NewOutput& o : outputs) {
      Value v = o.reading.value;
      values[o.index] = o.late > 0 ? add_behind(v, g_.name(v) + "_out", o.late) : read(o.reading);
    }
    g_.set_outputs(values);
  }

  Graph& g_;
  std::vector<char> in_block_;  // by node
  std::unordered_map<std::uint64_t, Value, MixedHash> forwarded_;
};

}  // namespace

void rotate(Graph& g, std::span<const NodeId> nodes, int k, const RotateOptions& options) {
  Edits edits = EditFinder(g, nodes, k, options).find();
  if (edits.block.empty()) return;
  Editor(g).apply(edits, k, options.before);
}

}  // namespace hocket
