#pragma once
// Incorrect passes, for tests that they are detected.

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

/// Adds `break-order`, `break-types`, `break-half-way` and `double-neg`.
void add_broken_passes(PassTable& table);

}  // namespace hocket::testing
