#pragma once
// An emulated network link between ranks of one process.

#include <string_view>

namespace hocket::comm {

struct Link {
  double bandwidth = 0;  ///< bytes per second
  double latency = 0;    ///< seconds per call
};

/// Parses `10Gbps,20us`: bits per second (bps, Kbps, Mbps, Gbps; powers of 1000) and a latency (s,
/// ms, us, ns).
Link parse_link(std::string_view text);

}  // namespace hocket::comm
