#pragma once
// The phases of a loop as text.

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

/// The phases of a program as text, each under a line with its name: prologue, steady, and a drain
/// after a run that ends with the last turn. Error when they do not fit together.
std::string phases_text(const Program& program);

}  // namespace hocket
