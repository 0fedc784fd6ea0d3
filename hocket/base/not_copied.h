#pragma once
// A member that is not copied with its object.

#include <utility>

namespace hocket {

/// A copy has a value-initialised `value`; moving moves it.
template <class T>
struct NotCopied {
  T value = {};

  NotCopied() = default;
  NotCopied(const NotCopied&) {}
  NotCopied(NotCopied&& o) noexcept : value(std::exchange(o.value, T{})) {}
  NotCopied& operator=(const NotCopied& o) {
    if (this != &o) value = T{};
    return *this;
  }
  NotCopied& operator=(NotCopied&& o) noexcept {
    if (this != &o) value = std::exchange(o.value, T{});
    return *this;
  }
  ~NotCopied() = default;
  T* operator->() { return &value; }
};

}  // namespace hocket
