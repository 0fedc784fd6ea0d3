#pragma once

#include "hocket/ir/program.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Channels tell the order in which ranks start collectives. Numbers them anew from 0: in every
/// graph they ascend along the list, and where ranks of several graphs meet, all have the same
/// number. Leaves a remark where graphs start the same collectives in different orders; then no
/// numbers can ascend in both. O(c log c) for c collectives.
void order_collectives(Program& program, const NoOptions& options);

}  // namespace hocket
