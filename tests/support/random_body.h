#pragma once
// Random rotated loop bodies, each with an equivalent body without delays.

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomBody {
  Program plain;
  Program rotated;  ///< must give the same results as `plain`
};

/// The rotated body is built node by node, independently of `rotate`. It has delays of up to three,
/// values and transfers forwarded over as many iterations, several waits for the results of one
/// collective (in different iterations, or two for one result), readers that run ahead of an
/// update, state that is read late, outputs that lag, and nodes in any order that their operands
/// allow.
RandomBody random_body(Random& random);

}  // namespace hocket::testing
