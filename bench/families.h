#pragma once
// Graphs of any size for benchmarks: five families, always the same graph for the same size.

#include <span>
#include <string_view>

#include "hocket/ir/graph.h"

namespace hocket::bench {

struct Family {
  std::string_view name;
  std::string_view doc;
  /// A graph of exactly n nodes, beside inputs and return; n is at least 100.
  Graph (*make)(std::size_t n);
};

/// Elementwise ops in a row, with short side branches so that some nodes can move.
Graph make_chain(std::size_t n);
/// One value with n/4 readers; all others join what these have made.
Graph make_fan(std::size_t n);
/// A data-parallel training step: forward, backward, an all-reduce and an update per parameter.
Graph make_layered(std::size_t n);
/// A step on two axes: each layer's activations and their gradients are summed over one axis, each
/// in need of the one before, and parameters are gathered and gradients reduced over the other one,
/// called in the order of parameters with a view and a division around. Two nodes in nine start a
/// collective.
Graph make_sharded(std::size_t n);
/// Operands among recent and old values; with repeated nodes, dead nodes, constants and reshapes.
Graph make_random(std::size_t n);

/// A training step whose parameters are updated half by one optimizer for all, half by one each;
/// gradients come in buckets of four, and new parameters are read before the step ends.
Graph make_updates(std::size_t n);

std::span<const Family> families();

}  // namespace hocket::bench
