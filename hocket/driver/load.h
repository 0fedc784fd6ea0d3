#pragma once
// From what a user names on the command line to a Program.

#include <string>

#include "hocket/ir/program.h"

namespace hocket {

/// Reads a `.hkt` text (`-`: from standard input). Errors start with the path.
Program load(const std::string& source);

}  // namespace hocket
