#pragma once
// Gathers the pieces of new parameters, bucket by bucket.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hocket/passes/optimizer/shard_plan.h"

namespace hocket {

/// Collects the new pieces of parameters in the order in which they are computed. One all-gather
/// gathers the pieces whose gradients were in one bucket. It starts after the last of them is
/// computed, or earlier if one of them is read. Its wait goes in front of the first reader, or to
/// the end of the graph.
class ShardGathers {
 public:
  ShardGathers(Graph& g, const ShardPlan& plan);

  /// `old` is needed whole; `piece` is this rank's part of it, computed before node `n`.
  void add(Value old, Value piece, NodeId n);
  /// Waits, in front of `n`, for the gathered values that n reads whole.
  void land_for(NodeId n);
  /// Waits for all other gathered values at the end of the graph.
  void finish();

 private:
  struct Gather {
    std::vector<Value> old, pieces;
    NodeId like;     // gives the path and stage
    NodeId started;  // the all-gather; none until it is started
    bool landed = false;
  };
  bool wants_whole(Use use) const;
  void start(Gather& gather, NodeId place);
  void land(Gather& gather, NodeId place);
  Value whole(Value flat, const Type& type, const Gather& gather, NodeId place);

  Graph& g_;
  const ShardPlan& plan_;
  std::vector<Gather> gathers_;
  std::unordered_map<NodeId, std::size_t> open_;           // by origin
  std::unordered_map<NodeId, std::uint32_t> outstanding_;  // by origin: values not computed yet
  std::vector<std::uint32_t> gather_of_;                   // by value, from 1; 0 is none
};

}  // namespace hocket
