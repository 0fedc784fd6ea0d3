#include "oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "calls.h"
#include "cells.h"
#include "hocket/base/hash.h"

namespace hocket::testing {
namespace {

using Words = std::vector<std::uint64_t>;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mixed(a * 0x9e3779b97f4a7c15ull + b); }

/// Where the parts of a state lie in its words: positions of ranks, bits of the parts of calls
/// whose operands have been read and whose results have been written, bits of completed calls, what
/// unfinished calls have read, the digest of memory, digests of outputs by rank; then memory, which
/// is left out of the key because of its digest.
class Explorer {
 public:
  Explorer(const Run& run, const OracleOptions& options)
      : run_(run),
        options_(options),
        ranks_(run.ranks.size()),
        part_words_((run.parts + 63) / 64),
        call_words_((run.calls.size() + 63) / 64) {
    read_ = ranks_;
    written_ = read_ + part_words_;
    done_ = written_ + part_words_;
    given_ = done_ + call_words_;
    memory_digest_ = given_ + run.calls.size();
    outputs_ = memory_digest_ + 1;
    std::size_t at = outputs_ + ranks_;
    for (const RankTrace& r : run.ranks) {
      memory_.push_back(at);
      at += r.graph->cells;
    }
    size_ = at;
  }

  Judgement explore() {
    Words first(size_);
    now_.resize(size_);
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::uint32_t number = 0;
      for (const CellHome& home : run_.ranks[r].graph->homes) {
        ++number;
        if (home.written_before) fill(first, r, home.cells, mix(number, 77));
      }
      compute(first, r);
    }
    push(first);
    while (!stack_.empty() && out_.harm.empty()) {
      if (seen_.size() > options_.most_states) {
        out_.too_large = true;
        break;
      }
      now_.assign(stack_.end() - std::ssize(now_), stack_.end());
      stack_.resize(stack_.size() - size_);
      expand();
    }
    out_.states = seen_.size();
    return out_;
  }

 private:
  const Action& action(std::size_t r, std::uint64_t pc) const { return *run_.ranks[r].actions[pc]; }
  bool ended(const Words& s, std::size_t r) const { return s[r] == run_.ranks[r].actions.size(); }
  static bool bit(const Words& s, std::size_t from, std::size_t i) {
    return (s[from + i / 64] >> (i % 64)) & 1;
  }
  static void set(Words& s, std::size_t from, std::size_t i) {
    s[from + i / 64] |= std::uint64_t{1} << (i % 64);
  }
  bool posted(const Words& s, const Part& p) const {
    return p.start >= 0 &&
           s[static_cast<std::size_t>(p.rank)] > static_cast<std::uint64_t>(p.start);
  }
  const Action& start_of(const Part& p) const {
    return action(static_cast<std::size_t>(p.rank), static_cast<std::uint64_t>(p.start));
  }

  // ---- memory

  void put(Words& s, std::size_t r, std::uint32_t cell, std::uint64_t content) const {
    std::uint64_t& place = s[memory_[r] + cell];
    s[memory_digest_] ^= mix(memory_[r] + cell, place) ^ mix(memory_[r] + cell, content);
    place = content;
  }
  void fill(Words& s, std::size_t r, Cells cells, std::uint64_t content) const {
    for (std::uint32_t c = cells.begin; c < cells.end; ++c)
      put(s, r, c, mix(content, c - cells.begin));
  }
  std::uint64_t contents(const Words& s, std::size_t r, std::uint64_t h,
                         const std::vector<Cells>& list) const {
    for (Cells cells : list) {
      h = mix(h, cells.end - cells.begin);
      for (std::uint32_t c = cells.begin; c < cells.end; ++c) h = mix(h, s[memory_[r] + c]);
    }
    return h;
  }
  void write(Words& s, std::size_t r, const std::vector<Cells>& list, std::uint64_t h) const {
    for (std::size_t k = 0; k < list.size(); ++k) fill(s, r, list[k], mix(h, k));
  }

  // ---- steps

  /// Runs rank r up to its next start or wait.
  void compute(Words& s, std::size_t r) const {
    while (!options_.every_action && !ended(s, r) && run_.ranks[r].call[s[r]] < 0) act(s, r);
  }

  /// Runs the next action of rank r, which is neither a start nor a wait.
  void act(Words& s, std::size_t r) const {
    const Action& a = action(r, s[r]);
    std::uint64_t h = contents(s, r, a.salt, a.reads);
    if (a.kind == InstructionKind::input) h = mix(mix(h, run_.ranks[r].iteration[s[r]]), r);
    if (a.kind == InstructionKind::output) s[outputs_ + r] = mix(s[outputs_ + r], h);
    fill(s, r, a.scratch, mix(h, 99));
    write(s, r, a.writes, h);
    ++s[r];
  }

  void step_rank(std::size_t r) {
    const RankTrace& trace = run_.ranks[r];
    std::uint64_t pc = now_[r];
    if (trace.call[pc] < 0) {
      next_ = now_;
      act(next_, r);
      push(next_);
      return;
    }
    const Action& a = action(r, pc);
    auto c = static_cast<std::size_t>(trace.call[pc]);
    if (a.is_wait() && !bit(now_, done_, c)) return;
    next_ = now_;
    if (a.is_start()) {
      std::size_t part = run_.calls[c].bit + static_cast<std::size_t>(trace.part[pc]);
      if (a.reads.empty()) set(next_, read_, part);
      if (a.writes.empty()) set(next_, written_, part);
    }
    ++next_[r];
    compute(next_, r);
    settle();
  }

  /// The events of the transfer itself.
  void step_call(std::size_t c) {
    const MatchedCall& call = run_.calls[c];
    bool all_read = true;
    for (std::size_t p = 0; p < call.parts.size(); ++p) {
      if (!posted(now_, call.parts[p])) {
        all_read = false;
        continue;
      }
      if (bit(now_, read_, call.bit + p)) continue;
      all_read = false;
      next_ = now_;
      set(next_, read_, call.bit + p);
      const Action& a = start_of(call.parts[p]);
      next_[given_ + c] +=
          mix(p, contents(now_, static_cast<std::size_t>(call.parts[p].rank), a.salt, a.reads));
      settle();
    }
    if (!all_read) return;
    for (std::size_t p = 0; p < call.parts.size(); ++p) {
      if (bit(now_, written_, call.bit + p)) continue;
      next_ = now_;
      set(next_, written_, call.bit + p);
      const Action& a = start_of(call.parts[p]);
      write(next_, static_cast<std::size_t>(call.parts[p].rank), a.writes,
            mix(next_[given_ + c], a.salt));
      settle();
    }
  }

  bool may_complete(const Words& s, std::size_t c) const {
    const MatchedCall& call = run_.calls[c];
    auto open = [&](std::int32_t other) {
      return other >= 0 && !bit(s, done_, static_cast<std::size_t>(other));
    };
    if (open(call.predecessor)) return false;
    for (std::size_t p = 0; p < call.parts.size(); ++p)
      if (!posted(s, call.parts[p]) || !bit(s, read_, call.bit + p) ||
          !bit(s, written_, call.bit + p) || (options_.total && open(call.parts[p].previous)))
        return false;
    return true;
  }

  /// Completes what may, and keeps the state if it is new.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t c = 0; c < run_.calls.size(); ++c)
        if (!bit(next_, done_, c) && may_complete(next_, c)) {
          set(next_, done_, c);
          next_[given_ + c] = 0;
          changed = true;
        }
    }
    push(next_);
  }

  void push(const Words& s) {
    any_ = true;
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < memory_[0]; ++i) key = mix(key, s[i]);
    if (!seen_.insert(key).second) return;
    stack_.insert(stack_.end(), s.begin(), s.end());
  }

  void expand() {
    any_ = false;
    for (std::size_t r = 0; r < ranks_; ++r)
      if (!ended(now_, r)) step_rank(r);
    for (std::size_t c = 0; c < run_.calls.size(); ++c)
      if (!bit(now_, done_, c)) step_call(c);
    if (!any_) end();
  }

  void end() {
    for (std::size_t r = 0; r < ranks_; ++r)
      if (!ended(now_, r)) {
        out_.harm = fmt::format("deadlock: rank {} stays at action {}", r, now_[r]);
        return;
      }
    for (std::size_t c = 0; c < run_.calls.size(); ++c)
      if (!bit(now_, done_, c)) {
        out_.harm = fmt::format("unmatched: call {}", c);
        return;
      }
    std::uint64_t h = 1;
    for (std::size_t r = 0; r < ranks_; ++r) {
      h = mix(h, now_[outputs_ + r]);
      for (const CellHome& home : run_.ranks[r].graph->homes)
        if (home.is_state) h = contents(now_, r, h, {home.cells});
    }
    if (has_result_ && h != result_) out_.harm = "results: they depend on the order";
    has_result_ = true;
    result_ = h;
  }

  const Run& run_;
  const OracleOptions& options_;
  std::size_t ranks_, part_words_, call_words_;
  std::size_t read_, written_, done_, given_, memory_digest_, outputs_, size_;
  std::vector<std::size_t> memory_;  // by rank
  std::vector<std::uint64_t> stack_;
  std::unordered_set<std::uint64_t> seen_;
  Words now_, next_;
  bool any_ = false, has_result_ = false;
  std::uint64_t result_ = 0;
  Judgement out_;
};

std::vector<std::size_t> phases_of_run(const Plan& plan, int steps) {
  std::vector<std::size_t> phases;
  for (int t = 0; t < steps; ++t) phases.push_back(plan.phase_index(step_window(plan.shape, t)));
  for (int j = 1; j <= plan.shape.depth; ++j)
    if (Window w = drain_window(plan.shape, steps, j); w.lo <= w.hi)
      phases.push_back(plan.phase_index(w));
  return phases;
}

}  // namespace

Judgement judge(const Plan& plan, const OracleOptions& options) {
  std::vector<CellGraph> graphs;
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) {
    graphs.push_back(cells_of(plan, g));
    if (!graphs.back().misplaced.empty()) return {.harm = graphs.back().misplaced};
  }
  int longest = plan.shape.depth + 2 * plan.shape.turns;
  std::size_t states = 0;
  for (int steps = 1; steps <= longest; ++steps)
    for (const CellGraph& g : graphs)
      if (std::string harm = options.rules ? local_harm(g, phases_of_run(plan, steps)) : "";
          !harm.empty())
        return {.harm = fmt::format("{}, in a run of {}", harm, steps)};
  for (int steps = 1; steps <= longest; ++steps) {
    Run run = match_calls(plan, graphs, phases_of_run(plan, steps));
    Judgement found;
    if (!run.mismatch.empty())
      found.harm = "mismatch: " + run.mismatch;
    else
      found = Explorer(run, options).explore();
    states += found.states;
    found.states = states;
    if (!found.harm.empty()) found.harm += fmt::format(", in a run of {}", steps);
    if (found.too_large || !found.harm.empty()) return found;
  }
  return {.states = states};
}

}  // namespace hocket::testing
