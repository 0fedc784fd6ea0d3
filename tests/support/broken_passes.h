#pragma once
// Passes that do what no pass may do, to show that somebody notices.

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

/// Adds `break-order`, `break-types`, `break-half-way` and `double-neg`.
void add_broken_passes(PassTable& table);

}  // namespace hocket::testing
