#pragma once
// The exception types: an error that the user can fix, a run that failed, a bug in hocket.

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

namespace hocket {

/// Something the user can fix: bad text, a bad argument, a graph that breaks a rule.
/// The message is one line, `where: what was found, what was wanted`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A run that failed: an error on a rank, a missed deadline, calls of ranks that do not match. The
/// program itself may be correct.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant: a bug in hocket itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void run_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw RunError(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void internal_fail(fmt::format_string<Args...> format, Args&&... args) {
  throw InternalError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hocket
