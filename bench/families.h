#pragma once
// Graphs of any size for benchmarks. Each family gives the same graph for the same size.

#include <span>
#include <string_view>

#include "hocket/ir/program.h"

namespace hocket::bench {

struct Family {
  std::string_view name;
  std::string_view doc;
  /// A graph of exactly n nodes, not counting inputs and return; n is at least 100.
  Graph (*make)(std::size_t n);
};

/// A chain of elementwise ops, with short side branches so that some nodes can move.
Graph make_chain(std::size_t n);
/// One value with n/4 readers; all other nodes combine their results.
Graph make_fan(std::size_t n);
/// A data-parallel training step: forward, backward, an all-reduce and an update per parameter.
Graph make_layered(std::size_t n);
/// The same step on any number of ranks.
Graph make_data_parallel(std::size_t n, int ranks);
/// A step on two axes. Over one axis, activations and their gradients are summed layer by layer, in
/// a chain of dependent collectives. Over the other, parameters are gathered and gradients reduced,
/// called in the order of parameters, with a view and a division around each. Two nodes in nine
/// start a collective.
Graph make_sharded(std::size_t n);
/// Random nodes that read recent and old values; with repeated nodes, dead nodes, constants and
/// reshapes.
Graph make_random(std::size_t n);

/// A training step in which one optimizer updates half of the parameters, and each of the others
/// has its own; gradients come in buckets of four, and new parameters are read within the step.
Graph make_updates(std::size_t n);

/// A pipeline of stages, each on so many copies: every rank has a graph of n nodes of its own,
/// sends and receives for 32 small batches, and sums its gradients with the copies of its stage. n
/// is at least 400.
Program make_pipeline(std::size_t n, int stages, int copies);

std::span<const Family> families();

}  // namespace hocket::bench
