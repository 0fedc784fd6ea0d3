#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Constant folding, and removal of views and casts that do nothing: fewer nodes are left to run.
///
///     %c = constant() {value=4}
///     %r = sqrt(%c)                  ->    %r = constant() {value=2}
///     %s = reshape(%x) : f32[2,6]
///     %t = reshape(%s) : f32[12]           %t = reshape(%x) : f32[12]
///
/// Only folds where no backend could give other bits: data movement, comparisons, casts and the
/// exactly rounded + - * / sqrt, into at most 16 elements or a `full`, and never into a NaN, whose
/// bits depend on the processor. A reshape, permute, broadcast or cast to the type of its operand
/// is removed, and two in a row become one. `after` stays. Walks forward once. O(nodes).
void fold(Graph& g, const NoOptions& options);

}  // namespace hocket
