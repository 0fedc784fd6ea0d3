#pragma once

#include "hocket/ir/program.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Renumbers channels after passes that added, merged or moved collectives. Afterwards channels
/// count up from 0 along the list of every graph, so that a lower channel starts earlier on every
/// rank, and a collective has the same channel in all graphs that take part in it. Channels only
/// match the calls of different ranks, so no result changes. If graphs start the same collectives
/// in different orders, channels cannot ascend in both, and a remark says so. O(c log c) for c
/// collectives.
///
///     all_reduce(%g2) {channel=7}            all_reduce(%g2) {channel=0}
///     all_reduce(%g1) {channel=3}     ->     all_reduce(%g1) {channel=1}
void order_collectives(Program& program, const NoOptions& options);

}  // namespace hocket
