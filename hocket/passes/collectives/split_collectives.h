#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

struct SplitCollectives {
  Bytes part{4 << 20};  ///< no collective moves more
};

/// Cuts large all-reduces, reduces and broadcasts. A large transfer blocks smaller ones behind it,
/// and its first bytes can be used only when its last have arrived.
///
///     %h = all_reduce(%g) : f32[8]        %f  = reshape(%g) : f32[8]
///     %r = wait(%h)                  ->   %h1 = all_reduce(slice(%f, 0, 4))
///                                         %h2 = all_reduce(slice(%f, 4, 8))
///                                         %r  = concat(wait(%h1), wait(%h2))
///
/// Parts have at most `part` bytes, and are filled in the order of members. A member that does not
/// fit in a part is sent as slices of its flattened elements, each as a part by itself: so it needs
/// no bytes beside other members, and a plan leaves its slices, and what comes of them, where the
/// whole lies. Every element is reduced as before, so that no bit changes. Not cut are: other
/// kinds, which give each rank another piece; collectives that ranks with another graph take part
/// in; and those carried in flight to the next iteration. O(nodes + parts).
void split_collectives(Graph& g, const SplitCollectives& options);

}  // namespace hocket
