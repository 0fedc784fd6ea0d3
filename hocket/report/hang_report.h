#pragma once
// The report of a failed run, for people and for programs. docs/runtime.md describes the file.

#include <string>

#include "hocket/base/hang_report.h"

namespace hocket {

/// Indented JSON.
std::string to_json(const HangReport& report);

/// A line for each rank, at most 16 of them, and one for each difference in the order of calls;
/// nothing where a rank failed by itself, since its error says all.
std::string to_lines(const HangReport& report);

}  // namespace hocket
