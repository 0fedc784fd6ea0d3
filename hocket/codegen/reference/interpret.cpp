#include "hocket/codegen/reference/interpret.h"

#include <algorithm>
#include <map>
#include <memory>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/codegen/row_major.h"
#include "hocket/ir/mismatch.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// One collective while it runs: the ranks that take part, the operands of those that have joined,
/// and the results once all have.
struct Rendezvous {
  std::vector<int> members;
  std::int64_t channel = 0;
  const Op* op = nullptr;
  std::string description;  // of the first call, for messages
  struct Part {             // the call of one member; no graph before it has joined
    const Graph* graph = nullptr;
    NodeId node = {};
    const Node& call() const { return (*graph)[node]; }
  };
  std::vector<Part> parts;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<Type>> types;
  std::vector<std::vector<Tensor>> results;
  std::size_t arrived = 0;

  bool complete() const { return arrived == members.size(); }
  std::size_t index_of(int rank) const {
    return static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin());
  }
  std::string missing() const {
    std::string list;
    for (std::size_t i = 0; i < members.size(); ++i)
      if (parts[i].graph == nullptr)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", members[i]);
    return list;
  }
};

/// All collectives of a step, found by channel and participants.
class RendezvousTable {
 public:
  Rendezvous& join(const Graph& g, NodeId n, int rank, std::vector<Tensor> operands) {
    const Node& node = g[n];
    const auto& group = node.attr<std::string>("group");
    auto channel = node.attr<std::int64_t>("channel");
    std::vector<int> members = participants(node, g.world().members(group, rank), rank);
    auto& slot = rendezvous_[{channel, members}];
    if (!slot) {
      slot = std::make_unique<Rendezvous>();
      slot->parts.resize(members.size());
      slot->inputs.resize(members.size());
      slot->types.resize(members.size());
      slot->members = std::move(members);
      slot->channel = channel;
      slot->op = node.op;
      slot->description =
          fmt::format("{} on channel {} of group {}", g.describe(n), channel, quoted(group));
    }
    Rendezvous& m = *slot;
    std::size_t me = m.index_of(rank);
    if (m.parts[me].graph != nullptr)
      fail("rank {}: {}: channel {} is used twice in one step", rank, g.describe(n), channel);
    require_match(m, g, n, rank);
    m.parts[me] = {&g, n};
    m.inputs[me] = std::move(operands);
    for (Value v : g.results(n)) m.types[me].push_back(g.type(v).ready());
    ++m.arrived;
    if (m.complete()) exchange(m);
    return m;
  }

 private:
  /// The whole set of the group, or the two ranks of a send and its recv, the sender first.
  static std::vector<int> participants(const Node& node, std::vector<int> set, int rank) {
    if (node.op->partner == nullptr) return set;
    bool sends = node.op->collective->kind == CollectiveKind::send;
    int peer = set[static_cast<std::size_t>(node.attr<std::int64_t>(node.op->collective->peer))];
    if (peer == rank) fail("rank {}: {} with itself", rank, node.op->name);
    return sends ? std::vector<int>{rank, peer} : std::vector<int>{peer, rank};
  }

  static void require_match(const Rendezvous& m, const Graph& g, NodeId n, int rank) {
    auto other = std::ranges::find_if(m.parts, [](const auto& p) { return p.graph != nullptr; });
    if (other == m.parts.end()) return;
    if (auto mismatch = find_mismatch(*other->graph, other->node, g, n))
      fail("channel {}: rank {} calls {}, rank {} calls {}", m.channel,
           m.members[static_cast<std::size_t>(other - m.parts.begin())], mismatch->first, rank,
           mismatch->second);
  }

  static void exchange(Rendezvous& m) {
    if (m.op->exchange == nullptr) return;
    std::vector<const Attributes*> all;
    for (const Rendezvous::Part& part : m.parts) all.push_back(&part.call().attributes);
    ExchangeCall call{*m.op, m.parts[0].call().attributes, m.inputs, m.types, all, {}};
    for (const auto& types : m.types) call.results.emplace_back(types.size());
    m.op->exchange(call);
    m.results = std::move(call.results);
    m.inputs.clear();
  }

  std::map<std::pair<std::int64_t, std::vector<int>>, std::unique_ptr<Rendezvous>> rendezvous_;
};

/// One rank: its current node and the live values.
class InterpretedRank {
 public:
  InterpretedRank(const Program& program, int rank, const std::vector<Tensor>& inputs,
                  Evaluator& evaluator, RendezvousTable& rendezvous,
                  const InterpretOptions& options)
      : graph_(program.graph_of(rank)),
        frame_(program, graph_, rank, inputs, evaluator, {options.keep_values}),
        rank_(rank),
        rendezvous_(rendezvous),
        options_(options),
        at_(graph_.first_node()) {
    if (static_cast<std::size_t>(rank) < options.preset.size())
      preset_ = &options.preset[static_cast<std::size_t>(rank)];
  }

  bool done() const { return at_ == graph_.return_node(); }

  /// Runs until the end or until it must wait for another rank; true when it ran any node.
  bool advance() {
    bool moved = false;
    while (!done() && step()) {
      at_ = graph_.following(at_);
      moved = true;
    }
    return moved;
  }

  /// Transfers that the state carries in flight have arrived when all ranks are done.
  RankResult result() const {
    RankResult r = frame_.result();
    auto inputs = graph_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto known = inputs[i].state ? arriving_.find(graph_.next(inputs[i].value)) : arriving_.end();
      if (known == arriving_.end()) continue;
      auto [collective, index] = known->second;
      if (!collective->complete())
        fail("rank {} hands on {}, which rank {} did not join", rank_, collective->description,
             collective->missing());
      r.state[i] = collective->results[collective->index_of(rank_)][index];
    }
    return r;
  }

  std::string stuck() const {
    std::string where = fmt::format("rank {} waits in {}", rank_, graph_.describe(at_));
    if (blocking_ == nullptr) return where;
    return fmt::format("{} for {}, which rank {} did not join", where, blocking_->description,
                       blocking_->missing());
  }

 private:
  bool all_known(NodeId n) const {
    if (preset_ == nullptr || graph_[n].result_count == 0) return false;
    return std::ranges::all_of(graph_.results(n), [&](Value v) { return preset_->contains(v); });
  }

  std::vector<Tensor> run_kernel() {
    try {
      return frame_.run(at_);
    } catch (const Error& e) {
      fail("rank {}: {}", rank_, graph_.describe(at_, e.what()));
    }
  }

  bool step() {
    const Node& node = graph_[at_];
    if (node.delay != 0) fail("{}: has a delay; run the phases instead", graph_.describe(at_));
    std::vector<Tensor> results;
    if (all_known(at_)) {
      for (Value v : graph_.results(at_)) results.push_back(preset_->at(v));
    } else if (node.op->collective != nullptr) {
      if (blocking_ == nullptr)
        blocking_ = &rendezvous_.join(graph_, at_, rank_, frame_.operands(at_));
      if (node.op->is_collective) {
        for (std::uint32_t i = 0; i < node.result_count; ++i)
          arriving_[graph_.result(at_, i)] = {blocking_, i};
        results.resize(node.result_count);
      } else if (!blocking_->complete()) {
        return false;
      }
      blocking_ = nullptr;
    } else if (node.op->is_wait) {
      for (Value v : node.inputs) {
        auto known = arriving_.find(v);
        if (known == arriving_.end()) {  // a preset value
          results.push_back(frame_.value(v));
          continue;
        }
        auto [collective, index] = known->second;
        if (!collective->complete()) {
          blocking_ = collective;
          return false;
        }
        results.push_back(collective->results[collective->index_of(rank_)][index]);
      }
      blocking_ = nullptr;
    } else {
      results = run_kernel();
    }
    if (options_.hook) options_.hook(rank_, graph_, at_, results);
    frame_.finish(at_, std::move(results));
    return true;
  }

  const Graph& graph_;
  Frame frame_;
  int rank_;
  RendezvousTable& rendezvous_;
  const InterpretOptions& options_;
  const std::unordered_map<Value, Tensor>* preset_ = nullptr;
  NodeId at_;
  std::unordered_map<Value, std::pair<Rendezvous*, std::uint32_t>> arriving_;
  Rendezvous* blocking_ = nullptr;
};

std::vector<RankResult> run(std::span<InterpretedRank> ranks) {
  for (bool moved = true; moved;) {
    moved = false;
    for (InterpretedRank& r : ranks) moved |= r.advance();
  }
  auto stuck = std::ranges::find_if(ranks, [](const InterpretedRank& r) { return !r.done(); });
  if (stuck != ranks.end()) fail("{}", stuck->stuck());
  std::vector<RankResult> results;
  for (InterpretedRank& r : ranks) results.push_back(r.result());
  return results;
}

}  // namespace

Evaluator make_evaluator(Backend* backend) {
  if (backend == nullptr) return Evaluator();
  return Evaluator([backend](const Graph& g, NodeId n, std::span<const Tensor> operands, int rank) {
    return run_by(*backend, g, n, operands, rank);
  });
}

std::vector<RankResult> interpret(const Program& program,
                                  std::span<const std::vector<Tensor>> inputs,
                                  const InterpretOptions& options) {
  auto count = static_cast<std::size_t>(program.world->ranks());
  if (inputs.size() != count) fail("inputs for {} ranks, wanted {}", inputs.size(), count);
  Evaluator own, &evaluator = options.evaluator != nullptr ? *options.evaluator : own;
  RendezvousTable rendezvous;
  std::vector<InterpretedRank> ranks;
  ranks.reserve(count);
  for (std::size_t r = 0; r < count; ++r) {
    auto rank = static_cast<int>(r);
    ranks.emplace_back(program, rank, inputs[r], evaluator, rendezvous, options);
  }
  try {
    return run(ranks);
  } catch (const Error& e) {  // the inputs were checked above, so the run itself failed
    throw RunError(e.what());
  }
}

}  // namespace hocket
