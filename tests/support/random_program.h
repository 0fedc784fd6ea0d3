#pragma once
// Random programs for tests that passes preserve semantics, and values to run them on.

#include <cstdint>
#include <vector>

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomProgram {
  int ranks = 2;  ///< on a mesh of one or two axes, sometimes with a listed group that is no axis
  int nodes = 40;
  /// Adds many states of few types. Their next values depend on collectives, are shared, swapped,
  /// or inputs.
  bool loop = false;
  /// The largest dimension of inputs, and so of most values.
  std::int64_t largest = 4;
};

/// A valid program that may use every op. It has views of collective operands, operands read again
/// after a collective, the same operand twice, equal nodes, dead nodes, constants, regions, and
/// state with and without a next value.
Program random_program(Random& random, const RandomProgram& options);

/// Values for every input of every rank. State is equal on all ranks of a graph, other inputs
/// differ. Floats are drawn from a few values that include -0, infinities and NaN; integers are 0
/// or 1.
std::vector<std::vector<Tensor>> random_inputs(Random& random, const Program& program);

}  // namespace hocket::testing
