#pragma once

#include <chrono>

namespace hocket {

/// Seconds of the steady clock.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hocket
