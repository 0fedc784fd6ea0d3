#pragma once
// New parameters made whole again, bucket by bucket.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hocket/passes/optimizer/shard_plan.h"

namespace hocket {

/// Collects the new pieces of parameters in the order in which they are made. Pieces whose
/// gradients came in one bucket are gathered by one all-gather. It starts when the last of them is
/// made, or earlier when one of them is read. Waits stand in front of the first reader, else at the
/// end.
class ShardGathers {
 public:
  ShardGathers(Graph& g, const ShardPlan& plan);

  /// `old` is wanted whole, and `piece` is this rank's part of it, made in front of node `n`.
  void add(Value old, Value piece, NodeId n);
  /// Lets operands of `n` arrive in front of it, but for those that it reads as pieces.
  void land_for(NodeId n);
  /// Lets all others arrive before the end.
  void finish();

 private:
  struct Gather {
    std::vector<Value> old, pieces;
    NodeId like;     // path and stage
    NodeId started;  // none as long as it is open
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
  std::unordered_map<NodeId, std::uint32_t> outstanding_;  // by origin: values not yet made
  std::vector<std::uint32_t> gather_of_;                   // by value, from 1; 0 is none
};

}  // namespace hocket
