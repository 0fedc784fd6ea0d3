#include "hocket/lower/live_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "hocket/base/disjoint_sets.h"
#include "hocket/iter/lags.h"
#include "hocket/lower/plan.h"
#include "hocket/lower/result_layouts.h"
#include "hocket/lower/steps.h"
#include "hocket/lower/storage.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

std::int64_t rounded(const Type& type) {
  return (type.bytes() + plan_alignment - 1) / plan_alignment * plan_alignment;
}

/// One phase: units of values, when they are alive, and what is alive besides.
class Counting {
 public:
  Counting(const Graph& phase, const Steps& steps)
      : g_(phase),
        s_(steps),
        units_(steps.types.size()),
        first_(steps.types.size(), -1),
        last_(steps.types.size(), -1),
        bytes_(steps.types.size()),
        wait_(steps.types.size(), -1),
        change_(steps.steps.size() + 3),
        in_rows_(must_be_row_major(phase, steps)),
        maker_(steps.types.size(), nowhere) {
    for (std::uint32_t t = 0; t < steps.steps.size(); ++t)
      for (std::uint32_t i = 0; i < steps.steps[t].result_count; ++i)
        maker_[steps.steps[t].results + i] = t;
  }

  std::int64_t count() {
    join();
    place_in_time();
    keep_nexts();
    overwrite_in_states();
    overwrite();
    for (std::uint32_t v = 0; v < bytes_.size(); ++v)
      if (units_.find(v) == v && bytes_[v] > 0 && first_[v] >= 0)
        add(bytes_[v], first_[v], last_[v]);
    for (std::size_t t = 0; t < s_.steps.size(); ++t)
      if (const Kernel* k = s_.steps[t].kernel; k != nullptr && !is_free(s_.steps[t]))
        add((k->workspace_bytes + plan_alignment - 1) / plan_alignment * plan_alignment +
                reordered(s_.steps[t]),
            time(t), time(t));
    std::int64_t live = 0, most = 0;
    for (std::int64_t c : change_) most = std::max(most, live += c);
    return most;
  }

 private:
  // Inputs come at time 0, step t at time t + 1, the end is behind all steps.
  static int time(std::size_t t) { return static_cast<int>(t) + 1; }
  int end() const { return time(s_.steps.size()); }
  std::uint32_t unit(ValueNumber v) { return static_cast<std::uint32_t>(units_.find(v)); }
  const Type& type(ValueNumber v) const { return *s_.types[v]; }
  /// The port that a value comes from; none for an input, and for what no kernel computes.
  const Port* port_of(ValueNumber v) const {
    std::uint32_t t = maker_[v];
    if (t == nowhere || s_.steps[t].kernel == nullptr || s_.steps[t].op->view != nullptr)
      return nullptr;
    return &s_.steps[t].kernel->results[v - s_.steps[t].results];
  }

  /// A concat of results of transfers that are ranges of its bytes: they may arrive there.
  bool joins_arrived(const Step& s) const {
    if (s.op != &ops::concat) return false;
    auto dim = static_cast<std::uint32_t>(attribute<std::int64_t>(*s.op, *s.attributes, "dim"));
    for (std::uint32_t d = 0; d < dim; ++d)
      if (type(s.results).shape[d] != 1) return false;
    return std::ranges::all_of(s_.operands(s), [&](ValueNumber v) {
      return maker_[v] != nowhere && s_.steps[maker_[v]].op->is_wait;
    });
  }

  /// Waits, and views that cost no copy: their readers take any layout, or the rows of the operand
  /// are rows of the view, or the operand's kernel can write it so that they are.
  bool is_free(const Step& s) const {
    if (s.op->is_wait || joins_arrived(s)) return true;
    if (s.op->view == nullptr) return false;
    ValueNumber operand = s_.operands(s)[0];
    const Port* port = port_of(operand);
    if (in_rows_[s.results] == 0 || (port != nullptr && port->any)) return true;
    std::vector<const Type*> types;
    for (ValueNumber v : s_.operands(s)) types.push_back(&type(v));
    InferCall call{*s.op, types, *s.attributes, g_.world(), {s_.types[s.results], 1}, nullptr};
    auto view = s.op->view(call, Layout::row_major(type(operand).elements()));
    return view && view->layout.is_row_major() &&
           view->first * hocket::bytes(type(operand).dtype) % plan_alignment == 0;
  }

  /// Bytes of copies that a kernel's layouts make necessary while it runs, or right behind it.
  std::int64_t reordered(const Step& s) const {
    std::int64_t total = 0;
    auto operands = s_.operands(s);
    for (std::size_t i = 0; i < s.kernel->operands.size() && i < operands.size(); ++i) {
      const Port &wanted = s.kernel->operands[i], *made = port_of(operands[i]);
      if (!wanted.any && !wanted.layout.is_row_major() &&
          (made == nullptr || (!made->any && made->layout != wanted.layout)))
        total += rounded(type(operands[i]));
    }
    for (std::uint32_t i = 0; i < s.result_count; ++i)
      if (const Port& made = s.kernel->results[i];
          !made.any && !made.layout.is_row_major() && in_rows_[s.results + i] != 0)
        total += rounded(type(s.results + i));
    return total;
  }
  static bool is_bucket(const Step& s) {
    return s.op->collective != nullptr && s.op->collective->elementwise;
  }
  void add(std::int64_t bytes, int from, int to) {
    change_[static_cast<std::size_t>(from)] += bytes;
    change_[static_cast<std::size_t>(to) + 1] -= bytes;
  }

  /// Views and waits belong to their operand, members of a bucket to each other.
  void join() {
    for (const Step& s : s_.steps) {
      auto operands = s_.operands(s);
      if (s.op->view != nullptr && is_free(s)) units_.join(s.results, operands[0]);
      if (s.op->is_wait)
        for (std::uint32_t i = 0; i < operands.size(); ++i) units_.join(s.results + i, operands[i]);
      if (joins_arrived(s))
        for (ValueNumber v : operands) units_.join(s.results, v);
      if (is_bucket(s) ||
          (s.op->collective != nullptr && s.op->collective->kind == CollectiveKind::send))
        for (std::uint32_t i = 0; i < s.result_count; ++i) {
          units_.join(s.results + i, operands[i]);
          units_.join(s.results, s.results + i);
        }
    }
  }

  void use(ValueNumber v, int t) {
    std::uint32_t u = unit(v);
    if (first_[u] < 0 || t < first_[u]) first_[u] = t;
    last_[u] = std::max(last_[u], t);
  }

  void place_in_time() {
    for (const Input& in : g_.inputs()) {
      fixed_.insert(unit(in.state ? in.value.index : 0));
      if (!in.state && !g_.uses(in.value).empty()) define(in.value.index, 0);
    }
    std::vector<std::pair<const Step*, int>> starts;
    for (std::size_t t = 0; t < s_.steps.size(); ++t) {
      const Step& s = s_.steps[t];
      bool named = s.op == &ops::constant && s.kernel == nullptr;
      if (named) fixed_.insert(unit(s.results));
      for (ValueNumber v : s_.operands(s)) {
        if (!is_free(s)) use(v, time(t));
        if (s.op->is_wait) wait_[unit(v)] = std::max(wait_[unit(v)], time(t));
      }
      if (s.op->collective != nullptr) starts.emplace_back(&s, time(t));
      for (std::uint32_t i = 0; i < s.result_count && !named; ++i)
        if (!is_free(s)) define(s.results + i, time(t));
    }
    // The operands of a transfer are in use until the wait.
    for (auto [s, t] : starts)
      for (std::uint32_t i = 0; i < s->result_count; ++i)
        for (ValueNumber v : s_.operands(*s))
          use(v,
              std::max(t, wait_[unit(s->results + i)] < 0 ? end() : wait_[unit(s->results + i)]));
    for (const Output& o : g_.outputs()) use(s_.number(o.value), last_or(s_.number(o.value)));
  }
  int last_or(ValueNumber v) { return std::max(0, last_[unit(v)]); }

  /// A value gets bytes, unless its unit has them: a result of a bucket, and a value of another
  /// one's.
  void define(ValueNumber v, int t) {
    std::uint32_t u = unit(v);
    use(v, t);
    if (!type(v).pending && !fixed_.contains(u)) bytes_[u] += rounded(type(v));
    if (type(v).pending && bytes_[u] == 0) bytes_[u] += rounded(type(v).ready());
  }

  /// A next value lies where its state does, if it is computed behind the last reader of the state.
  void keep_nexts() {
    for (const Input& in : g_.inputs()) {
      Value next = in.state ? g_.next(in.value) : Value{};
      if (!next || next == in.value) continue;
      std::uint32_t u = unit(s_.number(next)), old = unit(in.value.index);
      if (fixed_.contains(u)) continue;
      if (first_[old] < 0 || last_[old] <= first_[u]) {
        bytes_[u] -= std::min(bytes_[u], rounded(type(in.value.index).ready()));
        free_since_[u] = first_[old] < 0 ? -1 : last_[old];
      } else {
        last_[u] = end();
      }
      fixed_.insert(u);
    }
  }

  /// An operand of what lies where a state does may lie there before it.
  void overwrite_in_states() {
    for (std::size_t t = s_.steps.size(); t-- > 0;) {
      const Step& s = s_.steps[t];
      if (s.kernel == nullptr || is_free(s)) continue;
      for (std::uint32_t r = 0; r < s.result_count; ++r) {
        auto to = free_since_.find(unit(s.results + r));
        if (to == free_since_.end() || first_[to->first] != time(t)) continue;
        for (std::uint32_t o : s.kernel->may_overwrite[r]) {
          ValueNumber v = s_.operands(s)[o];
          std::uint32_t from = unit(v);
          if (fixed_.contains(from) || last_[from] != time(t) || first_[from] <= to->second ||
              bytes_[from] != rounded(type(v)))
            continue;
          bytes_[from] = 0;
          fixed_.insert(from);
          free_since_[from] = to->second;
          break;
        }
      }
    }
  }

  /// A result may take the bytes of an operand that dies.
  void overwrite() {
    for (std::size_t t = 0; t < s_.steps.size(); ++t) {
      const Step& s = s_.steps[t];
      if (s.kernel == nullptr || is_free(s)) continue;
      for (std::uint32_t r = 0; r < s.result_count; ++r)
        for (std::uint32_t o : s.kernel->may_overwrite[r]) {
          std::uint32_t from = unit(s_.operands(s)[o]), to = unit(s.results + r);
          if (from == to || fixed_.contains(from) || last_[from] != time(t) ||
              first_[to] != time(t) || bytes_[from] != bytes_[to] || first_[from] == time(t))
            continue;
          --last_[from];
          break;
        }
    }
  }

  const Graph& g_;
  const Steps& s_;
  DisjointSets units_;
  std::vector<int> first_, last_;  // by unit
  std::vector<std::int64_t> bytes_;
  std::vector<int> wait_;
  std::vector<std::int64_t> change_;
  std::vector<char> in_rows_;         // by value: a reader wants it row-major
  std::vector<std::uint32_t> maker_;  // by value: its step
  std::set<std::uint32_t> fixed_;     // lies where a state does, or a constant: counted always
  std::map<std::uint32_t, int> free_since_;  // by unit in a state: when its old value was last read
};

std::int64_t kept_bytes(const Graph& body) {
  std::int64_t total = 0;
  std::set<NodeId> starts;
  std::set<std::string> constants;
  for (const Input& in : body.inputs()) {
    if (!in.state) continue;
    Value next = body.type(in.value).pending ? body.next(in.value) : Value{};
    bool transfer = next && !body.is_input(body.node(next));
    if (!transfer) total += rounded(body.type(in.value).ready()) * std::max(in.slots, 1);
    if (!transfer || !starts.insert(body.node(next)).second) continue;
    for (Value v : body.results(body.node(next)))
      total += rounded(body.type(v).ready()) * std::max(in.slots, 1);
  }
  for (NodeId n : body.nodes())
    if (const std::string* ref = constant_ref(body[n]);
        ref != nullptr && constants.insert(*ref).second)
      total += rounded(body.type(body.result(n)));
  return total;
}

}  // namespace

std::int64_t live_bytes_bound(const Program& program, std::size_t graph, Backend* backend) {
  const Graph& body = program.graphs[graph];
  Expander expander(*program.world, ranks_of(body)[0], backend);
  std::int64_t most = 0;
  bool rotated = is_rotated(body);
  LoopShape shape = rotated ? loop_shape(program) : LoopShape{};
  for (Window w : all_windows(shape)) {
    Graph phase = rotated ? hocket::phase(body, w) : body;
    most = std::max(most, Counting(phase, expander.expand(phase)).count());
  }
  return kept_bytes(body) + most;
}

}  // namespace hocket
