#pragma once
// Random programs for tests of meaning, and values to run them on.

#include <cstdint>
#include <vector>

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomProgram {
  int ranks = 2;  ///< on a mesh of one or two axes, at times with a listed group that cuts across
  int nodes = 40;
  /// Much state, of few types, whose updates depend on collectives, share a value, trade places or
  /// take over an input.
  bool loop = false;
};

/// A valid program over all ops: views of collective operands, operands read again after a
/// collective, the same operand twice, equal nodes, dead nodes, constants, regions, state with and
/// without next.
Program random_program(Random& random, const RandomProgram& options);

/// Values for every input of every rank: equal state on all ranks of a graph, other inputs per
/// rank. Floats are drawn from a few values with -0, infinities and NaN among them; integers are 0
/// or 1.
std::vector<std::vector<Tensor>> random_inputs(Random& random, const Program& program);

}  // namespace hocket::testing
