#pragma once
// The message of an error.

#include <string>

#include "hocket/base/error.h"

namespace hocket::testing {

/// The message of the Error that `f` throws, "" when it throws none.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace hocket::testing
