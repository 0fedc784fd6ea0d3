#include "hocket/lower/live_bound.h"

#include <algorithm>
#include <set>
#include <vector>

#include "hocket/iter/lags.h"
#include "hocket/lower/kept_bytes.h"
#include "hocket/lower/pieces.h"
#include "hocket/lower/result_layouts.h"
#include "hocket/lower/steps.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan.h"

namespace hocket {
namespace {

/// One phase. Where lowering has a choice, in particular whether a view of unknown layout is
/// copied, both ways are allowed for: pieces that may lie in each other.
class Counting {
 public:
  Counting(const Graph& phase, const Steps& steps)
      : g_(phase),
        s_(steps),
        in_rows_(must_be_row_major(phase, steps)),
        has_rows_(steps.types.size()),
        piece_(steps.types.size(), nowhere),
        last_(steps.types.size(), none),
        wait_(steps.types.size(), none),
        leaves_(steps.types.size()),
        made_(steps.types.size(), none) {
    for (int t = 0; t < end(); ++t)
      for (std::uint32_t i = 0; i < steps.steps[static_cast<std::size_t>(t)].result_count; ++i)
        made_[steps.steps[static_cast<std::size_t>(t)].results + i] = t;
  }

  std::int64_t count() {
    find_last_uses();
    add_inputs();
    for (const Step& s : s_.steps) add_results(s);
    put_into_homes();
    return most_at_once();
  }

 private:
  static constexpr int none = -1;
  int end() const { return static_cast<int>(s_.steps.size()); }
  const Type& type(ValueNumber v) const { return *s_.types[v]; }
  PieceNumber piece(ValueNumber v) const { return pieces_.find(piece_[v]); }
  /// Those that are read: only the first one of a view, none where there is nothing to compute.
  std::span<const ValueNumber> operands(const Step& s) const {
    bool runs = s.kernel != nullptr || s.op->collective != nullptr || s.op->is_wait;
    return s_.operands(s).subspan(0, s.op->view != nullptr ? 1 : runs ? s.operand_count : 0);
  }
  static bool is_elementwise(const Step& s) {
    return s.op->collective != nullptr && s.op->collective->elementwise;
  }
  bool is_carried(const Step& s) const { return carried_.contains(s.node); }
  bool is_bucket(const Step& s) const {
    return is_elementwise(s) && s.result_count > 1 && !is_carried(s);
  }

  /// A view, or what is waited for, that nobody reads: no use of its operand.
  bool is_idle(const Step& s, std::uint32_t result) const {
    ValueNumber r = s.results + result;
    return (s.op->view != nullptr || s.op->is_wait) && last_[r] == none && leaves_[r] == 0;
  }

  // ---- when values are used for the last time

  void find_last_uses() {
    for (const Input& in : g_.inputs())
      if (Value next = in.state && g_.type(in.value).pending ? g_.next(in.value) : Value{})
        carried_.insert(g_.node(next));
    for (const Output& o : g_.outputs()) leaves_[s_.number(o.value)] = 1;
    for (const Input& in : g_.inputs())
      if (Value next = in.state ? g_.next(in.value) : Value{}; next && next != in.value)
        last_[s_.number(next)] = end();
    for (int t = end(); t-- > 0;) {
      const Step& s = s_.steps[static_cast<std::size_t>(t)];
      auto of = operands(s);
      for (std::uint32_t i = 0; i < of.size(); ++i) {
        if (s.op->is_wait) wait_[of[i]] = t;
        bool alone = s.op->is_wait || s.op->view != nullptr;  // result i comes from operand i
        if (!alone || !is_idle(s, i)) last_[of[i]] = std::max(last_[of[i]], t);
      }
    }
    for (int t = 0; t < end(); ++t) find_end_of_transfer(t);
  }

  /// The bytes of a transfer are in use until its wait. Operands that a result overwrites, or that
  /// are copied to a bucket, are not.
  void find_end_of_transfer(int t) {
    const Step& s = s_.steps[static_cast<std::size_t>(t)];
    if (s.op->collective == nullptr || s.result_count == 0) return;
    int ends = is_carried(s) ? end() : none;
    for (ValueNumber r = s.results; r < s.results + s.result_count; ++r)
      if (wait_[r] != none) ends = ends == none ? wait_[r] : std::min(ends, wait_[r]);
    for (ValueNumber r = s.results; r < s.results + s.result_count; ++r)
      last_[r] = std::max(last_[r], ends);
    for (ValueNumber v : operands(s))
      if (!is_elementwise(s) || (!is_bucket(s) && last_[v] > t))
        last_[v] = std::max(last_[v], ends);
  }

  // ---- where values may lie

  void add_inputs() {
    for (const Input& in : g_.inputs()) {
      ValueNumber v = in.value.index;
      has_rows_[v] = 1;
      if (in.state)
        piece_[v] = pieces_.add(rounded(type(v)), Pieces::Kind::state,
                                pieces_.add(rounded(type(v)), Pieces::Kind::home));
      else
        piece_[v] = pieces_.add(rounded(type(v)), Pieces::Kind::value);
    }
  }

  void add_results(const Step& s) {
    for (ValueNumber r = s.results; r < s.results + s.result_count; ++r) {
      bool named_constant = s.op == &ops::constant && s.kernel == nullptr;
      if (named_constant) {
        has_rows_[r] = 1;
      } else if (s.op->is_wait) {
        piece_[r] = piece_[operands(s)[r - s.results]];
        has_rows_[r] = 1;
      } else if (s.op->view != nullptr && !is_copied(s)) {
        ValueNumber shown = operands(s)[0];
        piece_[r] = piece_[shown];
        if (has_rows_[shown] == 0 && piece_[shown] != nowhere)  // perhaps it is copied
          piece_[r] = pieces_.add(rounded(type(r)), Pieces::Kind::value, piece(shown));
        has_rows_[r] = shows_rows(s) ? 1 : 0;
      } else {
        piece_[r] = pieces_.add(rounded(type(r)), Pieces::Kind::value, room_for(s, r));
        has_rows_[r] = makes_rows(s, r) ? 1 : 0;
      }
    }
    if (is_bucket(s)) add_bucket(s);
    if (joins_arrived(s)) join_arrived(s);
  }

  /// What is sent stays where it is, and what a slice is reduced to may lie in the whole.
  PieceNumber room_for(const Step& s, ValueNumber r) const {
    bool sends = s.op->collective != nullptr && s.op->collective->kind == CollectiveKind::send;
    if (!sends && (!is_elementwise(s) || s.result_count > 1)) return nowhere;
    PieceNumber operand = piece(operands(s)[r - s.results]);
    if (operand == nowhere || sends) return operand;
    PieceNumber top = pieces_.top(operand);
    bool larger = pieces_.bytes(top) > rounded(type(r));
    return larger && !pieces_.is_in_home(top) ? operand : nowhere;
  }

  /// A concat of what transfers bring may be where they put it; then no kernel runs.
  bool joins_arrived(const Step& s) const {
    return s.op == &ops::concat && s.kernel != nullptr &&
           std::ranges::all_of(operands(s), [&](ValueNumber v) {
             int t = made_[v];
             return t != none && s_.steps[static_cast<std::size_t>(t)].op->is_wait;
           });
  }
  void join_arrived(const Step& s) {
    PieceNumber whole = piece(s.results);
    for (ValueNumber v : operands(s)) {
      if (piece(v) == nowhere) continue;
      PieceNumber top = pieces_.top(piece(v));
      if (top == whole) continue;
      if (pieces_.around(top) != nowhere || pieces_.bytes(top) > pieces_.bytes(whole))
        pieces_.hide(whole);
      pieces_.put(top, whole);
    }
  }

  /// Whether a result that is no view is certainly row-major.
  bool makes_rows(const Step& s, ValueNumber r) const {
    if (s.kernel == nullptr || s.op->view != nullptr || in_rows_[r] != 0) return true;
    const Port& port = s.kernel->results[r - s.results];
    if (!port.any) return port.layout.is_row_major();
    return std::ranges::all_of(operands(s), [&](ValueNumber v) { return has_rows_[v] != 0; });
  }
  /// Whether a view of known rows shows rows that are aligned.
  bool shows_rows(const Step& s) const {
    ValueNumber shown = operands(s)[0];
    if (has_rows_[shown] == 0) return false;
    std::vector<const Type*> types;
    for (ValueNumber v : s_.operands(s)) types.push_back(&type(v));
    InferCall call{*s.op, types, *s.attributes, g_.world(), {s_.types[s.results], 1}, nullptr};
    auto view = s.op->view(call, Layout::row_major(type(shown).elements()));
    return view && view->layout.is_row_major() &&
           view->first * hocket::bytes(type(shown).dtype) % plan_alignment == 0;
  }
  /// Whether every plan copies what a view shows: where rows are wanted, and the view has none.
  bool is_copied(const Step& s) const {
    ValueNumber shown = operands(s)[0];
    if (s.kernel == nullptr || in_rows_[s.results] == 0) return false;
    return type(s.results).elements() > type(shown).elements() ||
           (has_rows_[shown] != 0 && !shows_rows(s));
  }

  /// All members of a bucket are one piece. It lives from the first instruction that writes an
  /// operand to the last one that reads a result. An operand that must be copied into the bucket is
  /// a piece of its own.
  void add_bucket(const Step& s) {
    std::int64_t total = 0;
    for (ValueNumber r = s.results; r < s.results + s.result_count; ++r) total += rounded(type(r));
    PieceNumber bucket = piece(operands(s)[0]);
    bool another = bucket != nowhere && pieces_.kind(bucket) == Pieces::Kind::bucket &&
                   pieces_.bytes(bucket) == total;
    for (ValueNumber v : operands(s)) another = another && piece(v) == bucket;
    if (!another) {
      bucket = pieces_.add(total, Pieces::Kind::bucket);
      for (ValueNumber v : operands(s)) join(bucket, v);
    }
    for (ValueNumber r = s.results; r < s.results + s.result_count; ++r) piece_[r] = bucket;
  }

  void join(PieceNumber bucket, ValueNumber member) {
    PieceNumber p = piece(member);
    if (p == nowhere || p == bucket || pieces_.kind(p) == Pieces::Kind::bucket) return;
    PieceNumber top = pieces_.top(p);
    if (pieces_.is_in_home(top)) return;
    bool fits = pieces_.bytes(top) == rounded(type(member));
    if (top != p && !fits)
      pieces_.hide(p);
    else if (fits && top == p && pieces_.around(p) == nowhere)
      pieces_.join(bucket, p);
    else if (fits)
      pieces_.put(top, bucket);
  }

  /// A next value may lie where its state does, and so may an operand that it overwrites, and so
  /// on.
  void put_into_homes() {
    for (const Input& in : g_.inputs()) {
      Value next = in.state ? g_.next(in.value) : Value{};
      if (!next || next == in.value) continue;
      // Not where the old value is read behind it. But old values move to other states in time.
      int last = last_[in.value.index];
      if (last <= made_[s_.number(next)] || last == end() || is_old_state(s_.number(next)))
        put(s_.number(next), pieces_.around(piece_[in.value.index]));
    }
    ReplacedStates replaced(g_);
    for (const Step& s : s_.steps) {  // all results of a carried collective have homes
      if (!is_carried(s)) continue;
      for (std::uint32_t i = 0; i < s.result_count; ++i)
        if (!pieces_.is_in_home(piece(s.results + i))) pieces_.hide(piece(s.results + i));
      for (Value v : operands_apart(g_, replaced, s.node))
        put(s_.number(v), pieces_.add(rounded(g_.type(v)), Pieces::Kind::home));
    }
    for (int t = end(); t-- > 0;)
      for_overwritten(t, [&](ValueNumber operand, ValueNumber result) {
        if (is_old_state(operand) || piece(operand) == nowhere || piece(result) == nowhere) return;
        if (pieces_.is_hidden(pieces_.top(piece(result))))
          pieces_.hide(pieces_.top(piece(operand)));
        else if (home_of(result) != nowhere)
          put(operand, home_of(result));
      });
  }

  bool is_old_state(ValueNumber v) const {
    return piece(v) != nowhere && pieces_.kind(piece(v)) == Pieces::Kind::state;
  }
  PieceNumber home_of(ValueNumber v) const {
    if (piece(v) == nowhere) return nowhere;
    PieceNumber top = pieces_.top(piece(v));
    return pieces_.is_in_home(top) ? pieces_.around(top) : nowhere;
  }
  void put(ValueNumber v, PieceNumber home) {
    if (piece(v) == nowhere) return;
    PieceNumber top = pieces_.top(piece(v));
    if (pieces_.bytes(top) == pieces_.bytes(home)) pieces_.put(top, home);
  }

  /// Calls f for the operands of step t that die there, and the results that may overwrite them.
  template <class F>
  void for_overwritten(int t, F f) const {
    const Step& s = s_.steps[static_cast<std::size_t>(t)];
    auto of = operands(s);
    auto visit = [&](std::size_t o, std::uint32_t r) {
      if (o >= of.size() || last_[of[o]] != t) return;
      // A state lies at home, where nothing lies but its next value.
      PieceNumber result = piece(s.results + r);
      if (is_old_state(of[o]) && result != nowhere &&
          !pieces_.may_meet(piece(of[o]), pieces_.top(result)))
        return;
      f(of[o], s.results + r);
    };
    for (std::uint32_t r = 0; r < s.result_count; ++r) {
      if (is_elementwise(s)) visit(r, r);
      if (s.kernel == nullptr || (s.op->view != nullptr && !is_copied(s))) continue;
      for (std::uint32_t o : s.kernel->may_overwrite[r]) visit(o, r);
    }
  }

  // ---- how much is alive

  void change(ValueNumber v, int alive) {
    if (piece(v) != nowhere) pieces_.change(piece(v), alive);
  }

  std::int64_t most_at_once() {
    std::vector<std::vector<ValueNumber>> dying(s_.steps.size());
    auto born = [&](ValueNumber v, int t) {
      change(v, 1);
      if (int last = std::max(last_[v], t); last < end())
        dying[static_cast<std::size_t>(last)].push_back(v);
    };
    std::int64_t most = 0;
    for (const Input& in : g_.inputs()) {
      ValueNumber v = in.value.index;
      if (last_[v] != none) born(v, 0);
      // One that is an output and nothing else comes and goes.
      bool passes = last_[v] == none && !in.state && !g_.uses(in.value).empty();
      most = std::max(most, pieces_.total() + (passes ? rounded(type(v)) : 0));
    }
    for (int t = 0; t < end(); ++t) {
      const Step& s = s_.steps[static_cast<std::size_t>(t)];
      auto& ends = dying[static_cast<std::size_t>(t)];
      for (std::uint32_t i = 0; i < s.result_count; ++i)
        if (!is_idle(s, i)) born(s.results + i, t);
      // Each of these results takes the bytes of an operand: at most so many are spared, and at
      // most the bytes of all such operands.
      std::set<ValueNumber> overwritten, spared;
      for_overwritten(t, [&](ValueNumber operand, ValueNumber result) {
        overwritten.insert(operand);
        spared.insert(result);
      });
      std::int64_t all = pieces_.total();
      for (ValueNumber v : spared) all -= rounded(type(v));
      for (ValueNumber v : overwritten) change(v, -1);
      most = std::max(most, std::max(all, pieces_.total()) + while_running(t));
      for (ValueNumber v : ends)
        if (!overwritten.contains(v)) change(v, -1);
      most = std::max(most, pieces_.total() + behind(s));
    }
    return most;
  }

  /// Workspace, and operands in the layout that the kernel wants.
  std::int64_t while_running(int t) const {
    const Step& s = s_.steps[static_cast<std::size_t>(t)];
    if (s.kernel == nullptr || s.op->view != nullptr || joins_arrived(s)) return 0;
    std::int64_t total = rounded(s.kernel->workspace_bytes);
    auto of = operands(s);
    for (std::size_t i = 0; i < std::min(of.size(), s.kernel->operands.size()); ++i) {
      const Port& port = s.kernel->operands[i];
      if (!port.any && !port.layout.is_row_major() && has_rows_[of[i]] != 0 && last_[of[i]] > t)
        total += rounded(type(of[i]));
    }
    return total;
  }

  /// A result in rows, as its readers want it, besides that in the layout of the kernel.
  std::int64_t behind(const Step& s) const {
    std::int64_t most = 0;
    if (s.kernel == nullptr || s.op->view != nullptr) return 0;
    for (std::uint32_t i = 0; i < s.result_count; ++i)
      if (const Port& made = s.kernel->results[i];
          !made.any && !made.layout.is_row_major() && in_rows_[s.results + i] != 0)
        most = std::max(most, rounded(type(s.results + i)));
    return most;
  }

  const Graph& g_;
  const Steps& s_;
  std::vector<char> in_rows_, has_rows_;  // by value: a reader wants rows; it certainly has them
  std::vector<PieceNumber> piece_;        // by value; nowhere for constants
  std::vector<int> last_, wait_;          // by value: steps
  std::vector<char> leaves_;              // by value: an output
  std::vector<int> made_;                 // by value: its step; none for an input
  std::set<NodeId> carried_;              // collectives that may end in a later phase
  Pieces pieces_;
};

}  // namespace

std::int64_t live_bytes_bound(const Program& program, std::size_t graph, Backend* backend) {
  const Graph& body = program.graphs[graph];
  Expander expander(*program.world, ranks_of(body)[0], backend);
  std::int64_t most = 0;
  bool rotated = std::ranges::any_of(program.graphs, is_rotated);
  LoopShape shape = rotated ? loop_shape(program) : LoopShape{};
  for (Window w : all_windows(shape)) {
    Graph phase = rotated ? hocket::phase(body, w) : body;
    most = std::max(most, Counting(phase, expander.expand(phase)).count());
  }
  return kept_bytes(body) + most;
}

}  // namespace hocket
