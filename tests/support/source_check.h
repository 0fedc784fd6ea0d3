#pragma once
// Checks the invariants of a Source that its translation relies on.

#include <string>

#include "hocket/frontend/source.h"

namespace hocket::testing {

/// Throws std::runtime_error unless references lead to existing results of earlier nodes, names are
/// unique, placeholders and constants are tensors, and the output comes last.
void require_sound(const frontend::Source& source);

/// The kinds of nodes and arguments in a source, one per line: a signature that tells sources
/// apart.
std::string features(const frontend::Source& source);

}  // namespace hocket::testing
