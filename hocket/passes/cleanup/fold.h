#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Computes at compile time what is constant and drops views that do nothing, where no backend
/// could give other bits: constants pass through data movement, comparisons, casts and the exactly
/// rounded
/// + - * / sqrt, into at most 16 elements or a `full`, and never into a NaN that the processor
/// would make up; a reshape, permute, broadcast or cast to what its operand already is, is that
/// operand; two such views in a row are one. `after` stays. Walks forward once. O(nodes).
void fold(Graph& g, const NoOptions& options);

}  // namespace hocket
