#pragma once
// Passes that do what no pass may do, to show that somebody notices.

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

/// Adds `break-order`, `break-types` and `break-half-way`.
void add_broken_passes(PassTable& table);

}  // namespace hocket::testing
