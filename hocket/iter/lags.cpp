#include "hocket/iter/lags.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "hocket/base/error.h"

namespace hocket {

bool is_forwarded(const Graph& body, Value v) {
  if (!body.is_input(body.node(v))) return false;
  const Input& in = body.input(v);
  return in.state && in.kind == StateKind::forwarded;
}

bool is_rotated(const Graph& body) {
  for (const Input& in : body.inputs())
    if (is_forwarded(body, in.value)) return true;
  for (NodeId n : body.nodes())
    if (body[n].delay != 0) return true;
  return false;
}

int joint_turns(int turns, int slots) {
  auto joint = std::lcm(std::int64_t{turns}, std::int64_t{slots});
  return static_cast<int>(std::min(joint, std::int64_t{std::numeric_limits<int>::max()}));
}

NodeId first_that_changes(const Graph& body) {
  const Lags lags(body);
  for (NodeId n : body.nodes())
    if (!lags.timeless(n)) return n;
  return body.return_node();
}

Lags::Lags(const Graph& body)
    : body_(body),
      replaced_(body),
      timeless_(body.value_bound()),
      settled_(body.value_bound()),
      is_state_(body.value_bound()),
      lag_(body.value_bound()),
      base_(body.value_bound()) {
  for (const Input& in : body.inputs()) is_state_[in.value.index] = in.state;
  find_timeless();
  for (NodeId n : body.nodes())
    for (std::uint32_t i = 0; i < body[n].result_count; ++i) {
      Value v = body.result(n, i);
      base_[v.index] = v;
      lag_[v.index] = timeless(v) ? 0 : body[n].delay;
    }
  std::vector<Value> path;
  for (const Input& in : body.inputs()) settle(in.value, path);
}

Value Lags::with_start(Value state) const {
  while (state && body_.input(state).kind == StateKind::forwarded) state = replaced_.another(state);
  return state;
}

void Lags::refuse(Value state, const std::string& why) const {
  throw LoopError(body_, body_.node(state), fmt::format("state %{}: {}", body_.name(state), why));
}

void Lags::find_timeless() {
  for (const Input& in : body_.inputs()) {
    Value next = body_.next(in.value);
    bool keeps = in.state && in.kind != StateKind::forwarded && (!next || next == in.value);
    timeless_[in.value.index] = keeps;
  }
  for (NodeId n : body_.nodes()) {
    const Node& node = body_[n];
    if (!node.op->pure() || node.op->is_collective) continue;
    if (!std::ranges::all_of(node.inputs, [&](Value v) { return timeless(v); })) continue;
    for (std::uint32_t i = 0; i < node.result_count; ++i) timeless_[body_.result(n, i).index] = 1;
  }
}

/// Follows the chain of next values that are inputs to a value with a known lag, and sets the lags
/// of all states on the chain.
void Lags::settle(Value input, std::vector<Value>& path) {
  path.clear();
  Value v = input;
  while (is_input(v) && !settled_[v.index]) {
    settled_[v.index] = 1;
    base_[v.index] = v;
    path.push_back(v);
    if (!is_state(v) || timeless(v)) break;
    Value next = body_.next(v);
    if (!next) refuse(v, "forwarded, but it has no next value");
    v = next;
  }
  // States that are only permuted have no update that could be delayed: their lag is 0. Forwarded
  // state in such a cycle would have no node that makes its value.
  bool around = is_state(v) && !timeless(v);
  auto circle = around ? std::ranges::find(path, v) : path.end();
  for (auto it = circle; it != path.end(); ++it)
    if (body_.input(*it).kind == StateKind::forwarded)
      refuse(*it, "forwarded in a circle, so that nobody makes its value");
  for (auto i = static_cast<std::size_t>(circle - path.begin()); i-- > 0;) {
    const Input& in = body_.input(path[i]);
    if (!in.state || timeless(path[i])) continue;
    Value next = body_.next(path[i]);
    lag_[path[i].index] = lag(next);
    if (in.kind != StateKind::forwarded) continue;
    lag_[path[i].index] += in.slots;
    base_[path[i].index] = base(next);
  }
}

Value Lags::state_of(Value next) const {
  Value state = with_start(replaced_.first(next));
  if (state && with_start(replaced_.another(state)))
    throw LoopError(
        body_, body_.node(next),
        fmt::format("{}: it is the next value of several states, and a reader that runs ahead of "
                    "it reads one of them; give each state a next value of its own (after)",
                    body_.describe(body_.node(next))));
  return state;
}

Value Lags::meaning(NodeId reader, Value operand) const {
  if (timeless(operand)) return operand;
  int delay = body_[reader].delay;
  if (lag(operand) == delay) return base(operand);
  if (stands_in(operand, delay)) return state_of(operand);
  throw LoopError(
      body_, reader,
      fmt::format("{}: has delay {} and reads %{}, which has {}{}", body_.describe(reader), delay,
                  body_.name(operand), lag(operand), advice(operand, delay)));
}

/// A hint for the message about a reader of `operand` with this delay: says if the value at the end
/// of the chain of states is loop-invariant, which has lag 0 whatever its written delay.
std::string Lags::advice(Value operand, int delay) const {
  Value made = operand;
  for (std::size_t hops = body_.inputs().size(); hops > 0 && is_state(made) && !timeless(made);
       --hops)  // limited, because states may form a cycle
    made = body_.next(made);
  std::string why;
  if (timeless(made))
    why = fmt::format(": %{} is the same in every iteration, so that no delay of its counts",
                      body_.name(made));
  if (timeless(base(operand)))
    return fmt::format("{}; read %{} itself", why, body_.name(base(operand)));
  return fmt::format("{}; wanted equal delays{}", why,
                     lag(operand) < delay ? ", or forwarded state between them" : "");
}

Lags::OutputMeaning Lags::output(Value v) const {
  if (timeless(v)) return {v, 0};
  if (lag(v) > 0 && stands_in(v, lag(v) - 1)) return {state_of(v), lag(v) - 1};
  return {base(v), lag(v)};
}

int Lags::depth() const {
  int depth = 0;
  for (NodeId n : body_.nodes())
    if (!timeless(n)) depth = std::max<int>(depth, body_[n].delay);
  for (const Input& in : body_.inputs()) {
    if (!in.state || in.kind == StateKind::forwarded) continue;
    if (lag(in.value) > max_delay)
      refuse(in.value, fmt::format("its next value %{} comes {} iterations late, wanted at most {}",
                                   body_.name(body_.next(in.value)), lag(in.value), max_delay));
    depth = std::max(depth, lag(in.value));
  }
  for (const Output& o : body_.outputs()) {
    int late = output(o.value).lag;
    if (late > max_delay)
      throw LoopError(body_, body_.return_node(),
                      fmt::format("return: output %{} comes {} iterations late, wanted at most {}",
                                  body_.name(o.value), late, max_delay));
    depth = std::max(depth, late);
  }
  return depth;
}

int Lags::turns() const {
  int turns = 1;
  for (const Input& in : body_.inputs()) {
    turns = joint_turns(turns, in.slots);
    if (turns > max_turns)
      refuse(in.value, fmt::format("its {} slots and those of others repeat after {} iterations, "
                                   "wanted at most {}",
                                   in.slots, turns, max_turns));
  }
  return turns;
}

}  // namespace hocket
