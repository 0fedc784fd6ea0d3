#pragma once
// The geometry of pooling: windows in a plane, and planes in any layout.

#include <algorithm>
#include <array>
#include <span>

#include "hocket/ops/kernel.h"
#include "hocket/ops/walk.h"

namespace hocket::ops {

/// One spatial dimension of a pooling.
struct Side {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t start(std::int64_t p) const { return p * stride - padding; }
};

template <class Call>
std::array<Side, 3> sides(const Call& c, const Shape& x, bool dilated) {
  const Ints& kernel = c.template attr<Ints>("kernel");
  auto at = [&](std::string_view name, std::size_t i, std::int64_t missing) {
    const Ints& list = c.template attr<Ints>(name);
    return list.empty() ? missing : list[i];
  };
  std::array<Side, 3> all;
  // Missing dimensions come first, so that the last one is always the innermost.
  std::size_t missing_dims = 3 - kernel.size();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    Side& s = all[missing_dims + i];
    s.in = x[x.size() - kernel.size() + i];
    s.kernel = kernel[i];
    s.stride = at("stride", i, kernel[i]);
    s.padding = at("padding", i, 0);
    s.dilation = dilated ? at("dilation", i, 1) : 1;
    std::int64_t room = s.in + 2 * s.padding - s.dilation * (s.kernel - 1) - 1;
    bool up = c.template attr<bool>("ceil");
    s.out = room < 0 ? 0 : (room + (up ? s.stride - 1 : 0)) / s.stride + 1;
    // When rounding up, the last window must still start inside x or its left padding.
    if (up && (s.out - 1) * s.stride >= s.in + s.padding) --s.out;
  }
  return all;
}

/// The part of a window that is inside of x.
struct Window {
  const std::array<Side, 3>& sides;
  std::array<std::int64_t, 3> starts, begin,
      end;  // of the window; from and to which of its elements

  std::int64_t inside() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < 3; ++i) count *= std::max<std::int64_t>(0, end[i] - begin[i]);
    return count;
  }
  /// f(index in the plane of x) for each of its elements.
  template <class F>
  void for_each(F f) const {
    auto at = [&](std::size_t i, std::int64_t k) { return starts[i] + k * sides[i].dilation; };
    for (std::int64_t i = begin[0]; i < end[0]; ++i)
      for (std::int64_t j = begin[1]; j < end[1]; ++j) {
        std::int64_t row = (at(0, i) * sides[1].in + at(1, j)) * sides[2].in;
        for (std::int64_t k = begin[2]; k < end[2]; ++k) f(row + at(2, k));
      }
  }
};

/// f(index in the plane of the result, window) for every window.
template <class F>
void for_each_window(const std::array<Side, 3>& sides, F f) {
  Window w{sides, {}, {}, {}};
  auto place = [&](std::size_t i, std::int64_t p) {
    const Side& s = sides[i];
    auto steps = [&](std::int64_t room) {  // of the dilation, rounded up; a division is slow
      return s.dilation == 1 ? room : (room + s.dilation - 1) / s.dilation;
    };
    w.starts[i] = s.start(p);
    w.begin[i] = w.starts[i] < 0 ? steps(-w.starts[i]) : 0;
    w.end[i] = std::min(s.kernel, steps(std::max<std::int64_t>(0, s.in - w.starts[i])));
  };
  std::int64_t out = 0;
  for (std::int64_t a = 0; a < sides[0].out; ++a) {
    place(0, a);
    for (std::int64_t b = 0; b < sides[1].out; ++b) {
      place(1, b);
      for (std::int64_t d = 0; d < sides[2].out; ++d, ++out) {
        place(2, d);
        f(out, w);
      }
    }
  }
}

inline std::int64_t plane_size(const std::array<Side, 3>& s) { return s[0].in * s[1].in * s[2].in; }

/// The places of the elements of a plane, counted from its first.
struct PlanePlaces {
  std::int64_t stride;
  const Walk<1>* several;  ///< where one stride does not say it
  std::int64_t operator()(std::int64_t element) const {
    return several == nullptr ? element * stride : several->place(element)[0];
  }
};

/// A tensor as planes of its last dimensions, in any layout that has DimAxes.
class Planes {
 public:
  template <class Byte>
  Planes(const BasicView<Byte>& t, std::size_t spatial) {
    std::span<const std::int64_t> shape{t.type.shape.data(), t.type.shape.size()};
    DimAxes axes = *DimAxes::of(t.layout, shape);
    for (std::size_t d = shape.size(); d-- > 0;)
      for (std::size_t i = axes[d].size(); i-- > 0;) {
        Walk<1>& walk = d + spatial < shape.size() ? planes_ : plane_;
        walk.add_outer(axes[d][i].size, {axes[d][i].stride});
      }
    if (plane_.axes().size() == 1) stride_ = plane_.axes()[0].strides[0];
    std::int64_t inner = 1;
    for (const auto& a : planes_.axes()) {
      if (a.strides[0] == 1) beside_ = a.size, between_ = inner;
      inner *= a.size;
    }
  }

  std::int64_t count() const { return planes_.elements(); }
  std::int64_t first(std::int64_t plane) const { return planes_.place(plane)[0]; }
  PlanePlaces places() const { return {stride_, plane_.axes().size() > 1 ? &plane_ : nullptr}; }
  /// How many planes lie interleaved, element beside element, and how far apart their numbers are.
  std::int64_t beside() const { return beside_; }
  std::int64_t between() const { return between_; }

 private:
  Walk<1> planes_, plane_;
  std::int64_t stride_ = 1, beside_ = 1, between_ = 1;
};

/// Calls f with std::integral_constant<int, N> and the number of the first plane for all planes, N
/// interleaved ones at a time: 16, 8 or 1, as all of the tensors allow.
template <class F>
void for_each_planes(std::initializer_list<const Planes*> tensors, F f) {
  const Planes& first = **tensors.begin();
  auto fits = [&](std::int64_t lanes) {
    return std::ranges::all_of(tensors, [&](const Planes* t) {
      return t->beside() % lanes == 0 && t->between() == first.between();
    });
  };
  auto run = [&](auto lanes) {
    std::int64_t between = lanes > 1 ? first.between() : 1;
    for (std::int64_t p = 0; p < first.count(); p += lanes * between)
      for (std::int64_t i = 0; i < between; ++i) f(lanes, p + i);
  };
  if (fits(16)) return run(std::integral_constant<int, 16>{});
  if (fits(8)) return run(std::integral_constant<int, 8>{});
  run(std::integral_constant<int, 1>{});
}

inline constexpr std::int64_t most_lanes = 16;

}  // namespace hocket::ops
