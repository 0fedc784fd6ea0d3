#pragma once
// Loops over the elements of several values that do not lie the same way.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hocket/ir/type.h"

namespace hocket {

/// Nested loops with a stride for each of N values. On the stack; nothing is allocated.
template <std::size_t N>
class Walk {
 public:
  using Places = std::array<std::int64_t, N>;
  struct Axis {
    std::int64_t size = 1;
    Places strides{};
  };

  /// Puts a loop around those there are. One that continues the outermost of them becomes one with
  /// it; one of size 1 is left out.
  void add_outer(std::int64_t size, const Places& strides) {
    elements_ *= size;
    if (size == 1) return;
    bool continues = count_ > 0;
    for (std::size_t k = 0; continues && k < N; ++k)
      continues = strides[k] == axes_[count_ - 1].size * axes_[count_ - 1].strides[k];
    if (continues)
      axes_[count_ - 1].size *= size;
    else
      axes_[count_++] = {size, strides};
  }
  /// Takes the i-th loop out, counted from the innermost, and returns it.
  Axis take(std::size_t i) {
    Axis taken = axes_[i];
    elements_ /= taken.size;
    for (--count_; i < count_; ++i) axes_[i] = axes_[i + 1];
    return taken;
  }

  /// The innermost first.
  std::span<const Axis> axes() const { return std::span(axes_).first(count_); }
  std::int64_t elements() const { return elements_; }

  /// The places of the element with this number, by division.
  Places place(std::int64_t number) const {
    Places at{};
    for (const Axis& a : axes()) {
      for (std::size_t k = 0; k < N; ++k) at[k] += number % a.size * a.strides[k];
      number /= a.size;
    }
    return at;
  }

  /// f(places, size, strides) for every run of the innermost loop, in order: the places of its
  /// first element, the number of elements, and the distances between them.
  template <class F>
  void for_each_run(F f) const {
    if (elements_ == 0) return;
    Axis inner = count_ > 0 ? axes_[0] : Axis{};
    std::array<std::int64_t, max_dims> index;
    for (std::size_t i = 0; i < count_; ++i) index[i] = 0;
    Places at{};
    for (;;) {
      f(at, inner.size, inner.strides);
      std::size_t i = 1;
      for (; i < count_; ++i) {
        const Axis& a = axes_[i];
        for (std::size_t k = 0; k < N; ++k) at[k] += a.strides[k];
        if (++index[i] < a.size) break;
        for (std::size_t k = 0; k < N; ++k) at[k] -= a.strides[k] * a.size;
        index[i] = 0;
      }
      if (i >= count_) return;
    }
  }

  /// f(places) for every element, in order.
  template <class F>
  void for_each(F f) const {
    for_each_run([&](Places at, std::int64_t size, const Places& strides) {
      for (std::int64_t i = 0; i < size; ++i) {
        f(at);
        for (std::size_t k = 0; k < N; ++k) at[k] += strides[k];
      }
    });
  }

 private:
  // There are at most 56 loops of more than one round in a tensor of 2^56 elements.
  std::array<Axis, max_dims> axes_;
  std::size_t count_ = 0;
  std::int64_t elements_ = 1;
};

}  // namespace hocket
