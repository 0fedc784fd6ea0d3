#pragma once
// The loop algebra as passes that only tests know, so that golden files can show it.

#include "hocket/passes/table.h"

namespace hocket::testing {

void add_loop_passes(PassTable& table);

/// The phases of a program as text, each under a line with its name.
std::string phases_text(const Program& program);

}  // namespace hocket::testing
