#pragma once

#include "hocket/ir/program.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Renumbers channels. A channel says when a rank starts a collective relative to others. From now
/// on channels ascend from 0 along the list of every graph, and a collective has the same number in
/// all graphs that take part in it. Where graphs start the same collectives in different orders, no
/// numbering can ascend in both; a remark says so. O(c log c) for c collectives.
///
///     all_reduce(%g2) {channel=7}            all_reduce(%g2) {channel=0}
///     all_reduce(%g1) {channel=3}     ->     all_reduce(%g1) {channel=1}
void order_collectives(Program& program, const NoOptions& options);

}  // namespace hocket
