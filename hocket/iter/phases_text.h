#pragma once
// Prints the phases of a loop.

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

/// The phases of a program as text, each after a line with its name: prologue, steady, and the
/// drain of a run that ends with the last turn. Error if delays and forwarded state are
/// inconsistent.
std::string phases_text(const Program& program);

}  // namespace hocket
