#include "support/random_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "hocket/base/error.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

const Type square{DType::f32, false, {2, 2}};

/// A value in both bodies. In the rotated body it belongs to the iteration `lag` before the current
/// one.
struct Twin {
  Value plain, rotated;
  int lag = 0;
  bool timeless = false;
};

class BodyMaker {
 public:
  BodyMaker(Random& random, Graph& plain, Graph& rotated)
      : random_(random),
        plain_(plain),
        rotated_(rotated),
        ranks_(plain.world().ranks()),
        deepest_(1 + static_cast<int>(below(random, 3))) {}

  void make() {
    inputs();
    for (std::size_t n = 4 + below(random_, 12); n > 0; --n)
      if (ranks_ > 1 && chance(random_, 25))
        collective();
      else
        keep(node(some_delay()));
    for (Twin& s : states_) update(s);
    read_ahead();
    outputs();
    mix_order();
  }

 private:
  int some_delay() { return chance(random_, 50) ? 0 : static_cast<int>(below(random_, bound())); }
  std::size_t bound() const { return static_cast<std::size_t>(deepest_) + 1; }
  void keep(const Twin& t) { values_.push_back(t); }

  void inputs() {
    auto add = [&](const char* name, const InputInfo& info) {
      return Twin{plain_.add_input(square, name, info), rotated_.add_input(square, name, info)};
    };
    for (std::size_t i = 0; i < 1 + below(random_, 2); ++i)
      keep(add("x", {.names = {fmt::format("x.{}", i)}}));
    for (std::size_t i = 0; i < 1 + below(random_, 4); ++i) {
      states_.push_back(add(
          "w", {.names = {fmt::format("w.{}", i)}, .state = true, .kind = StateKind::parameter}));
      states_.back().lag = some_delay();
      keep(states_.back());
    }
    if (!chance(random_, 50)) return;
    keep(add("c", {.names = {"c"}, .state = true}));
    values_.back().timeless = true;
  }

  /// The value for a reader with this delay; forwarded through state if the lags differ.
  Value at_delay(const Twin& t, int delay) {
    if (t.timeless || t.lag == delay) return t.rotated;
    auto [it, fresh] = carried_.try_emplace({t.rotated.index, delay - t.lag});
    if (fresh) {
      it->second =
          rotated_.add_input(rotated_.type(t.rotated), "carried",
                             {.state = true, .kind = StateKind::forwarded, .slots = delay - t.lag});
      rotated_.set_next(it->second, t.rotated);
    }
    return it->second;
  }

  /// A random value that a node with this delay may read: one whose lag is not larger.
  const Twin& operand(int delay) {
    std::vector<const Twin*> open;
    for (const Twin& t : values_)
      if (t.timeless || t.lag <= delay) open.push_back(&t);
    return *open[below(random_, open.size())];
  }

  Twin node(int delay) {
    static const std::vector<const Op*> list = {&ops::add,    &ops::sub,  &ops::mul,
                                                &ops::matmul, &ops::tanh, &ops::maximum};
    const Op& op = *list[below(random_, list.size())];
    std::vector<Value> plain, rotated;
    while (plain.size() < op.operands.size()) {
      const Twin& t = operand(delay);
      plain.push_back(t.plain);
      rotated.push_back(at_delay(t, delay));
    }
    return add(op, plain, rotated, delay, {})[0];
  }

  std::vector<Twin> add(const Op& op, const std::vector<Value>& plain,
                        const std::vector<Value>& rotated, int delay,
                        const std::vector<Named>& given) {
    Attributes attributes(op, given);
    NodeId a = plain_.add(plain_, {.op = &op, .inputs = plain, .attributes = attributes});
    NodeId b = rotated_.add(
        rotated_, {.op = &op, .inputs = rotated, .attributes = attributes, .delay = delay});
    std::vector<Twin> results;
    for (std::uint32_t i = 0; i < plain_[a].result_count; ++i)
      results.push_back({plain_.result(a, i), rotated_.result(b, i), delay});
    return results;
  }

  void collective() {
    static const std::vector<const Op*> list = {&ops::all_reduce, &ops::all_reduce,
                                                &ops::broadcast_from, &ops::reduce};
    const Op& op = *list[below(random_, list.size())];
    int delay = some_delay();
    std::vector<Value> plain, rotated;
    for (std::size_t m = 1 + below(random_, 3); m > 0; --m) {
      const Twin& t = operand(delay);
      plain.push_back(t.plain);
      rotated.push_back(at_delay(t, delay));
    }
    std::vector<Named> given{{"group", "dp"}, {"channel", channels_++}};
    constexpr std::string_view reductions[] = {"sum", "avg", "max"};
    if (op.attribute_index("reduce") >= 0)
      given.push_back({"reduce", std::string(reductions[below(random_, std::size(reductions))])});
    wait_apart(add(op, plain, rotated, delay, given));
  }

  /// Waits for the results in several waits, in this iteration or in later ones; some are waited
  /// for twice.
  void wait_apart(std::vector<Twin> pending) {
    std::vector<Twin> left = pending;
    std::ranges::shuffle(left, random_);
    while (!left.empty() || chance(random_, 15)) {
      if (left.empty()) left.push_back(pending[below(random_, pending.size())]);
      std::size_t count = 1 + below(random_, left.size());
      int age =
          static_cast<int>(below(random_, static_cast<std::size_t>(deepest_ - left[0].lag) + 1));
      int delay = left[0].lag + age;
      std::vector<Value> plain, rotated;
      for (std::size_t i = 0; i < count; ++i) {
        plain.push_back(left.back().plain);
        rotated.push_back(at_delay(left.back(), delay));
        left.pop_back();
      }
      for (const Twin& t : add(ops::wait, plain, rotated, delay, {})) keep(t);
    }
  }

  void update(const Twin& state) {
    const Twin& t = operand(state.lag);
    Twin now = add(ops::sub, {state.plain, t.plain}, {state.rotated, at_delay(t, state.lag)},
                   state.lag, {})[0];
    plain_.set_next(state.plain, now.plain);
    rotated_.set_next(state.rotated, now.rotated);
    updates_.push_back(now);
  }

  /// A reader that runs one iteration ahead of a delayed update reads the new value in place of the
  /// state.
  void read_ahead() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      int delay = states_[i].lag - 1;
      if (delay < 0 || chance(random_, 50)) continue;
      const Twin& t = operand(delay);
      keep(add(ops::add, {states_[i].plain, t.plain}, {updates_[i].rotated, at_delay(t, delay)},
               delay, {})[0]);
    }
  }

  void outputs() {
    auto add = [&](Value plain, Value rotated) {
      plain_.add_output("", plain);
      rotated_.add_output("", rotated);
    };
    for (std::size_t n = 1 + below(random_, 4); n > 0; --n) {
      const Twin& t = values_[below(random_, values_.size())];
      int later = chance(random_, 25) ? static_cast<int>(below(random_, bound())) : 0;
      add(t.plain, at_delay(t, t.timeless ? 0 : std::max(t.lag, later)));
    }
    std::size_t i = below(random_, states_.size());
    if (chance(random_, 35))  // the new value, or the value that stands in for the state
      add(states_[i].lag == 0 ? updates_[i].plain : states_[i].plain, updates_[i].rotated);
  }

  /// Moves random nodes up as far as their operands allow.
  void mix_order() {
    std::vector<NodeId> nodes;
    for (NodeId n : std::as_const(rotated_).nodes()) nodes.push_back(n);
    for (NodeId n : nodes) {
      if (chance(random_, 60)) continue;
      std::vector<NodeId> places;
      for (NodeId p = n; p != NodeId{} && p != rotated_.first_node(); p = rotated_.preceding(p)) {
        bool made_here = std::ranges::any_of(
            rotated_[n].inputs, [&](Value v) { return rotated_.node(v) == rotated_.preceding(p); });
        if (made_here) break;
        places.push_back(rotated_.preceding(p));
      }
      if (!places.empty()) rotated_.move_before(n, places[below(random_, places.size())]);
    }
  }

  Random& random_;
  Graph &plain_, &rotated_;
  int ranks_, deepest_;
  std::int64_t channels_ = 0;
  std::vector<Twin> values_, states_, updates_;             // `updates_` is parallel to `states_`
  std::map<std::pair<std::uint32_t, int>, Value> carried_;  // by value and distance
};

}  // namespace

RandomBody random_body(Random& random) {
  for (;;) {  // usually the first body keeps the limits
    auto world = std::make_shared<World>();
    if (chance(random, 60)) *world = World({{"dp", chance(random, 70) ? 2 : 3}});
    Graph plain("body", world), rotated("body", world);
    BodyMaker(random, plain, rotated).make();
    RandomBody body{Program(std::move(plain)), Program(std::move(rotated))};
    if (!find_violation(body.rotated.graphs[0]) && !find_loop_violation(body.rotated)) return body;
  }
}

}  // namespace hocket::testing
