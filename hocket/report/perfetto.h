#pragma once
// A trace in the JSON format of Perfetto (ui.perfetto.dev) and chrome://tracing.

#include <string>

#include "hocket/base/trace.h"

namespace hocket {

/// A process per rank, a thread per lane, a slice per span; arrows from each start over its
/// transfer and its wait to the first reader; the iterations on a lane of their own. Times are in
/// microseconds since the first step began.
std::string to_perfetto(const Trace& trace);

}  // namespace hocket
