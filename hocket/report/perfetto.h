#pragma once
// A trace in the JSON format of Perfetto (ui.perfetto.dev) and chrome://tracing.

#include <string>

#include "hocket/base/trace.h"

namespace hocket {

/// Shows each rank as a process, each lane as a thread and each span as a slice, with arrows from
/// each start through its transfer and its wait to the first reader. Iterations have a lane of
/// their own, and there are counters of bytes. Times are in microseconds since the first step
/// began.
std::string to_perfetto(const Trace& trace);

}  // namespace hocket
