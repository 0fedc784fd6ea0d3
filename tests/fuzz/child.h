#pragma once
// Work in a child process: whatever becomes of it, the parent lives to tell.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace hocket::fuzz {

/// Sanitizers need memory and time of their own: limits mean little then.
bool sanitized();

struct ChildLimits {
  std::size_t bytes = 0;  ///< of address space, so that bad_alloc hits who wants too much
  int seconds = 0;        ///< without progress
  /// Grows, in memory that is shared, while the child gets on; none: it has `seconds` in all.
  const std::atomic<std::uint64_t>* progress = nullptr;
  bool quiet = false;  ///< drop what it writes to standard error
};

struct ChildEnd {
  bool hung = false;
  bool signaled = false;
  int code = 0;  ///< exit code or signal
  double seconds = 0;
  std::size_t peak_bytes = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start);

/// The exit code of the child is what `work` returns.
ChildEnd run_child(const std::function<int()>& work, const ChildLimits& limits);

/// `ended by signal 11`, `exited with 1`, `no end after 20 s`.
std::string describe(const ChildEnd& end);

}  // namespace hocket::fuzz
