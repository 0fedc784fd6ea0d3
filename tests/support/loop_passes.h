#pragma once
// `rotate` as a pass for tests, so that golden files can show its result.

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

void add_loop_passes(PassTable& table);

}  // namespace hocket::testing
