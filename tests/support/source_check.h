#pragma once
// What a Source promises to whoever translates it.

#include <string>

#include "hocket/frontend/source.h"

namespace hocket::testing {

/// std::runtime_error when a promise is broken: references lead to earlier nodes and to results
/// that there are, names are unique, placeholders and constants are tensors, the output is last.
void require_sound(const frontend::Source& source);

/// What kinds of things a source has: a line each, to tell sources apart.
std::string features(const frontend::Source& source);

}  // namespace hocket::testing
