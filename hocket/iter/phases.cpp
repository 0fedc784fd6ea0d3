#include "hocket/iter/phases.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/clone.h"
#include "hocket/iter/lags.h"

namespace hocket {
namespace {

int slot_of(const Input& in, int turn) {
  return in.state && in.kind == StateKind::forwarded ? turn % std::max(in.slots, 1) : 0;
}

/// The name of an input in a phase; with several slots, that of the slot for this turn. It depends
/// only on the body, so it is the same in all phases.
std::string slot_name(const Graph& body, const Input& in, int turn) {
  std::string name = body.name(in.value);
  if (!in.state || in.kind != StateKind::forwarded || in.slots <= 1) return name;
  name += fmt::format("_{}", slot_of(in, turn));
  while (body.find(name)) name += "_";
  return name;
}

/// Derives one phase: a backward walk finds the values that are needed, then their nodes are
/// copied.
class Projection {
 public:
  Projection(const Graph& body, const Lags& lags, Window window)
      : body_(body),
        lags_(lags),
        window_(window),
        out_(body.name(), body.shared_world()),
        needed_(body.value_bound()),
        image_(body.value_bound()),
        copier_(body, out_) {
    out_.set_ranks(body.ranks());
  }

  Graph derive() {
    mark_needed();
    add_inputs();
    for (NodeId n : body_.nodes())
      if (runs(n)) copy(n);
    add_outputs();
    set_nexts();
    return std::move(out_);
  }

 private:
  bool in_window(int lag) const { return window_.lo <= lag && lag <= window_.hi; }

  bool runs(NodeId n) const {
    if (!lags_.timeless(n)) return in_window(body_[n].delay);
    for (std::uint32_t i = 0; i < body_[n].result_count; ++i)
      if (needed_[body_.result(n, i).index]) return true;
    return false;
  }

  /// The value that a reader with this delay reads in this phase. When it runs ahead of an update
  /// that does not run yet, it reads the state, which still has its old value.
  Value source(Value v, int delay) const {
    if (lags_.timeless(v) || lags_.lag(v) <= delay || in_window(lags_.lag(v))) return v;
    return lags_.state_of(v);
  }

  void mark_needed() {
    for (const Output& o : body_.outputs()) {
      int lag = lags_.output(o.value).lag;
      if (in_window(lag)) needed_[source(o.value, lag).index] = 1;
    }
    for (const Input& in : body_.inputs())
      if (Value next = next_here(in)) needed_[next.index] = 1;
    for (NodeId n : reversed(body_.nodes())) {
      if (!runs(n)) continue;
      for (Value v : body_[n].inputs) {
        if (!lags_.timeless(n)) lags_.meaning(n, v);  // Error when the lags do not fit
        needed_[source(v, body_[n].delay).index] = 1;
      }
    }
  }

  /// The next value of a state in this phase; none if its update does not run.
  Value next_here(const Input& in) const {
    Value next = body_.next(in.value);
    return next && in_window(lags_.lag(next)) ? next : Value{};
  }

  void add_inputs() {
    for (const Input& in : body_.inputs()) {
      InputInfo info = in;
      std::string name = body_.name(in.value);
      if (!in.state && window_.lo > 0) continue;
      if (in.state && in.kind == StateKind::forwarded) {
        if (!needed_[in.value.index] && !next_here(in)) continue;
        name = slot_name(body_, in, window_.turn);
        info.slots = 1;
      }
      image_[in.value.index] = out_.add_input(body_.type(in.value), name, std::move(info));
    }
  }

  Value image(Value v, int delay) const {
    Value found = image_[source(v, delay).index];
    if (!found) internal_fail("phase of {}: nothing stands for %{}", body_.name(), body_.name(v));
    return found;
  }

  void copy(NodeId n) {
    operands_.clear();
    for (Value v : body_[n].inputs) operands_.push_back(image(v, body_[n].delay));
    NodeId made = copier_.copy(n, out_, operands_, 0);
    for (std::uint32_t i = 0; i < body_[n].result_count; ++i)
      image_[body_.result(n, i).index] = out_.result(made, i);
  }

  void add_outputs() {
    for (const Output& o : body_.outputs()) {
      int lag = lags_.output(o.value).lag;
      if (in_window(lag)) out_.add_output(o.name, image(o.value, lag));
    }
  }

  void set_nexts() {
    for (const Input& in : body_.inputs())
      if (Value next = next_here(in))
        out_.set_next(image_[in.value.index], image(next, lags_.lag(next)));
  }

  const Graph& body_;
  const Lags& lags_;
  Window window_;
  Graph out_;
  std::vector<char> needed_;  // by value of the body: it is read in this phase
  std::vector<Value> image_;  // by value of the body
  std::vector<Value> operands_;
  Copier copier_;
};

int turn_of(LoopShape shape, std::int64_t t) { return static_cast<int>(t % shape.turns); }

}  // namespace

std::vector<PhaseInput> phase_inputs(const Graph& body, const Graph& phase, Window window) {
  std::map<std::string, PhaseInput> known;
  auto inputs = body.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    known[slot_name(body, inputs[i], window.turn)] = {i, slot_of(inputs[i], window.turn)};
  std::vector<PhaseInput> all;
  for (const Input& in : phase.inputs()) all.push_back(known.at(phase.name(in.value)));
  return all;
}

LoopShape loop_shape(const Graph& body) { return loop_shape(body, Lags(body)); }

LoopShape loop_shape(const Graph& body, const Lags& lags) {
  for (NodeId n : body.nodes())
    if (!lags.timeless(n))
      for (Value v : body[n].inputs) lags.meaning(n, v);
  return {lags.depth(), lags.turns()};
}

LoopShape loop_shape(const Program& program) {
  LoopShape all;
  for (const Graph& g : program.graphs) {
    LoopShape one = loop_shape(g);
    all.depth = std::max(all.depth, one.depth);
    all.turns = joint_turns(all.turns, one.turns);
    if (all.turns > max_turns)
      throw LoopError(g, {},
                      fmt::format("graph {}: the slots of forwarded state in all graphs repeat "
                                  "after {} iterations, wanted at most {}",
                                  g.name(), all.turns, max_turns));
  }
  return all;
}

Window step_window(LoopShape shape, std::int64_t t) {
  return {0, static_cast<int>(std::min<std::int64_t>(t, shape.depth)), turn_of(shape, t)};
}

Window drain_window(LoopShape shape, std::int64_t steps, int j) {
  std::int64_t t = steps - 1 + j;
  return {j, static_cast<int>(std::min<std::int64_t>(t, shape.depth)), turn_of(shape, t)};
}

std::vector<Window> all_windows(LoopShape shape) {
  std::vector<Window> all;
  for (int t = 0; t < shape.depth + shape.turns; ++t) all.push_back(step_window(shape, t));
  for (int j = 1; j <= shape.depth; ++j)
    for (int steps = 1; steps <= shape.depth + shape.turns; ++steps)
      all.push_back(drain_window(shape, steps, j));
  // Long runs have the drains of shorter ones; all of them come by with the first turns.
  std::set<Window> seen;
  std::erase_if(all, [&](Window w) { return !seen.insert(w).second; });
  return all;
}

std::string window_name(LoopShape shape, Window w) {
  if (w.lo == 0 && w.hi < shape.depth) return fmt::format("prologue {}", w.hi);
  if (w.hi < shape.depth)
    return fmt::format("drain {} after {}", w.lo, count_of(w.hi - w.lo + 1, "iteration"));
  std::string name = w.lo == 0 ? "steady" : fmt::format("drain {}", w.lo);
  if (shape.turns > 1) name += fmt::format(", turn {}", w.turn);
  return name;
}

Graph phase(const Graph& body, Window window) { return phase(body, Lags(body), window); }

Graph phase(const Graph& body, const Lags& lags, Window window) {
  return Projection(body, lags, window).derive();
}

Program phase(const Program& program, Window window) {
  Program derived;
  derived.world = program.world;
  derived.constants = program.constants;
  derived.applied = program.applied;
  for (const Graph& g : program.graphs) derived.graphs.push_back(phase(g, window));
  return derived;
}

std::vector<int> output_lags(const Graph& body) {
  Lags lags(body);
  std::vector<int> list;
  for (const Output& o : body.outputs()) list.push_back(lags.output(o.value).lag);
  return list;
}

Phases phases(const Graph& body) {
  Lags lags(body);
  Phases all{.shape = loop_shape(body, lags)};
  int depth = all.shape.depth, turns = all.shape.turns;
  auto add = [&](std::vector<Graph>& list, Window w) { list.push_back(phase(body, lags, w)); };
  for (int t = 0; t < depth; ++t) add(all.prologue, step_window(all.shape, t));
  for (int turn = 0; turn < turns; ++turn) add(all.steady, Window{0, depth, turn});
  for (int j = 1; j <= depth; ++j)
    for (int turn = 0; turn < turns; ++turn) add(all.drain, Window{j, depth, turn});
  return all;
}

}  // namespace hocket
