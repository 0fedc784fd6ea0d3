#pragma once
// The loop algebra as passes that only tests know, so that golden files can show it.

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

void add_loop_passes(PassTable& table);

}  // namespace hocket::testing
