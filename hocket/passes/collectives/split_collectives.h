#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

struct SplitCollectives {
  Bytes part{4 << 20};  ///< no collective moves more
};

/// A large transfer blocks small ones behind it, and its first bytes are of use only when its last
/// have come. Cuts what all-reduces, reduces and broadcasts move into parts of at most `part`
/// bytes, each a collective of its own, in the order of members; a member that is cut is sent as
/// slices of its flattened elements, and one concat joins what its waits bring. Every element is
/// reduced as before, so that no bit changes. Other kinds stay whole: they give each rank another
/// piece. So do collectives that ranks with another graph take part in, and those carried in
/// flight. O(nodes + parts).
void split_collectives(Graph& g, const SplitCollectives& options);

}  // namespace hocket
