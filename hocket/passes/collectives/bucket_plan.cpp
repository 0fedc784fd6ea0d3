#include "hocket/passes/collectives/bucket_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_set>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/dependencies.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

class BucketPlanner {
 public:
  BucketPlanner(const Graph& g, const std::vector<BucketCandidate>& list,
                const BucketLimits& limits)
      : g_(g),
        list_(list),
        limits_(limits),
        candidate_(g.node_bound(), none),
        blocked_(g.node_bound()),
        state_(g.node_bound(), State::waiting),
        order_(g, Holds::none) {
    for (NodeId n : order_.nodes()) order_.for_each_before(n, [&](NodeId) { ++blocked_[n.index]; });
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      candidate_[list[i].node.index] = i;
      if (list[i].key >= open_.size()) open_.resize(list[i].key + 1);
      if (list[i].stream >= begun_.size()) begun_.resize(list[i].stream + 1);
    }
  }

  std::vector<PlannedBucket> run() {
    for (const BucketCandidate& c : list_)
      if (blocked_[c.node.index] == 0) offer(c);
    do {
      compute_released();
      for (; cursor_ < order_.nodes().size(); compute_released()) {
        NodeId n = order_.nodes()[cursor_++];
        if (blocked_[n.index] == 0 && candidate_[n.index] == none) compute(n);
      }
    } while (close_one());
    if (computed_ != g_.size())
      internal_fail("{} of {} nodes were never computed", g_.size() - computed_, g_.size());
    return std::move(closed_);
  }

 private:
  enum class State : std::uint8_t { waiting, offered, computed };
  struct Open {
    PlannedBucket bucket;
    std::unordered_set<Value> operands;  // operands with several readers, to count their bytes once
    std::int64_t limit = 0;
  };
  struct Demand {  // a node to compute; its first `seen` dependencies are known to be computed
    NodeId node;
    std::uint32_t seen = 0;
  };

  void offer(const BucketCandidate& c) {
    state_[c.node.index] = State::offered;
    if (c.bytes >= limits_.cap) {
      close(c.key, fmt::format("{} reaches the cap by itself", shown(g_, c.node)));
      join(c);
      return close(c.key, "reaches the cap by itself");
    }
    join(c);
    const Open& open = open_[c.key];
    if (open.bucket.bytes >= open.limit)
      close(c.key, fmt::format("{} bytes reach the limit of {}", open.bucket.bytes, open.limit));
  }

  void join(const BucketCandidate& c) {
    Open& open = open_[c.key];
    if (open.bucket.members.empty()) {
      open.limit = begun_[c.stream] ? limits_.cap : limits_.first;
      begun_[c.stream] = true;
    }
    open.bucket.members.push_back(c.node);
    for (Value v : g_[c.node].inputs)
      if (g_.uses(v).size() == 1 || open.operands.insert(v).second)
        open.bucket.bytes = sum_of_bytes(open.bucket.bytes, g_.type(v).bytes());
  }

  void close(std::uint32_t key, std::string why) {
    PlannedBucket bucket = std::exchange(open_[key], {}).bucket;
    if (bucket.members.empty()) return;
    started_.insert(started_.end(), bucket.members.begin(), bucket.members.end());
    bucket.why = std::move(why);
    closed_.push_back(std::move(bucket));
  }

  void compute(NodeId n) {
    state_[n.index] = State::computed;
    ++computed_;
    std::vector<std::uint32_t> ready;  // candidates
    auto unblock = [&](NodeId m) {
      if (--blocked_[m.index] != 0) return;
      if (candidate_[m.index] != none)
        ready.push_back(candidate_[m.index]);
      else if (order_.position(m) <= cursor_)
        released_.push(order_.position(m));
    };
    order_.for_each_behind(n, unblock);
    std::ranges::sort(ready);  // into list order
    for (std::uint32_t i : ready) offer(list_[i]);
  }

  /// Computes members of closed buckets, and nodes that the walk has passed and that have become
  /// ready.
  void compute_released() {
    while (!started_.empty() || !released_.empty()) {
      if (!started_.empty()) {
        NodeId n = started_.front();
        started_.pop_front();
        compute(n);
      } else {
        NodeId n = order_.nodes()[released_.top() - 1];
        released_.pop();
        compute(n);
      }
    }
  }

  /// Called when all remaining nodes depend on open buckets. Closes the bucket that the next
  /// candidate depends on, or all buckets if no candidate is left. Returns false if none was open.
  bool close_one() {
    while (true) {
      while (!demand_.empty() && state_[demand_.back().node.index] == State::computed)
        demand_.pop_back();
      if (demand_.size() == 1 && state_[demand_[0].node.index] == State::offered)
        demand_.clear();  // the candidate depends on no open bucket any more
      if (demand_.empty()) {
        while (next_ < list_.size() && state_[list_[next_].node.index] != State::waiting) ++next_;
        if (next_ == list_.size()) return close_all();
        demand_.push_back({list_[next_].node});
      }
      NodeId n = demand_.back().node;
      if (state_[n.index] == State::offered) {
        close(list_[candidate_[n.index]].key,
              fmt::format("{} depends on it", shown(g_, demand_.front().node)));
        return true;
      }
      demand_.push_back({missing(demand_.back())});
    }
  }

  /// The next dependency that is not computed. None is checked again once it is computed.
  NodeId missing(Demand& d) {
    for (; d.seen < order_.size_before(d.node); ++d.seen) {
      NodeId from = order_.before(d.node, d.seen);
      if (from && state_[from.index] != State::computed) return from;
    }
    internal_fail("{}: waits for nothing", g_.describe(d.node));
  }

  bool close_all() {
    std::size_t before = closed_.size();
    for (std::uint32_t key = 0; key < open_.size(); ++key) close(key, "no more of its kind follow");
    return closed_.size() > before;
  }

  const Graph& g_;
  const std::vector<BucketCandidate>& list_;
  BucketLimits limits_;
  std::vector<std::uint32_t> candidate_;  // by node: its index in the list of candidates, or none
  std::vector<std::uint32_t> blocked_;  // by node: number of edges from nodes that are not computed
  std::vector<State> state_;            // by node
  Dependencies order_;
  std::size_t cursor_ = 0;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> released_;
  std::deque<NodeId> started_;
  std::vector<Open> open_;   // by key
  std::vector<bool> begun_;  // by stream
  std::vector<PlannedBucket> closed_;
  std::vector<Demand> demand_;
  std::size_t next_ = 0;  // index of the first candidate that was not offered yet
  std::size_t computed_ = 0;
};

}  // namespace

std::vector<PlannedBucket> plan_buckets(const Graph& g, const std::vector<BucketCandidate>& list,
                                        const BucketLimits& limits) {
  return BucketPlanner(g, list, limits).run();
}

}  // namespace hocket
