#pragma once
// The interpreter: one step of a program on all its ranks, in one thread, with the reference
// kernels or a backend. With the reference kernels it is slow, simple and deterministic: the
// reference for all faster ways to run.

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/codegen/reference/frame.h"

namespace hocket {

struct InterpretOptions {
  /// Called after each node with its results; values in flight are empty.
  std::function<void(int rank, const Graph&, NodeId, std::span<const Tensor>)> hook = nullptr;
  /// By rank: values that are already known. A node whose results are all known is not run.
  std::vector<std::unordered_map<Value, Tensor>> preset = {};
  /// Keep every value to the end, in `RankResult::values`, instead of freeing it after its last
  /// reader.
  bool keep_values = false;
  /// Runs the nodes of all ranks, because they share a thread. One object may serve several runs,
  /// of programs of one world, and then keeps what it has prepared. Not owned; none: the reference
  /// kernels, for this run.
  Evaluator* evaluator = nullptr;
};

/// The backend runs what it can, the reference kernels the rest; null: all. Not owned.
Evaluator make_evaluator(Backend* backend);

/// Runs every rank until it ends or waits for another, in turn. `inputs[rank]` has a tensor for
/// every input of its graph. Throws Error when an input is missing or of another type, RunError
/// with rank and node when a node fails, when the calls of one collective differ, or when ranks
/// deadlock.
std::vector<RankResult> interpret(const Program& program,
                                  std::span<const std::vector<Tensor>> inputs,
                                  const InterpretOptions& options = {});

}  // namespace hocket
