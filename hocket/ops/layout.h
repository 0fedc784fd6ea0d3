#pragma once
// How the elements of a value lie in memory.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "hocket/base/small_vector.h"
#include "hocket/ir/type.h"

namespace hocket {

/// Maps the row-major index of an element to its place in memory, counted in elements from that of
/// element 0. The index is written in a mixed radix with one digit for each axis, the last axis
/// fastest, and each digit is multiplied by the stride of its axis:
///
///     f32[8,64,14,14], row-major                 [100352:1]
///     the same with channels in blocks of 16     [32:3136, 16:1, 196:16]
///     a vector of 64 repeated along [8,64,196]   [8:0, 64:1, 196:0]
///
/// Dimensions of a shape do not occur, so a reshape changes no layout. Canonical: no axis of size
/// 1, no two neighbours that are one axis, and one axis [0:1] where there are no elements, so equal
/// maps are equal layouts. There are at most 56 axes, because no tensor has more than 2^56
/// elements.
class Layout {
 public:
  struct Axis {
    std::int64_t size = 1, stride = 1;
    friend bool operator==(Axis, Axis) = default;
  };

  /// Of a single element.
  Layout() = default;
  /// Merges neighbours and drops axes of size 1.
  explicit Layout(std::span<const Axis> axes);
  Layout(std::initializer_list<Axis> axes)
      : Layout(std::span<const Axis>(axes.begin(), axes.size())) {}
  static Layout row_major(std::int64_t elements);

  std::span<const Axis> axes() const { return {axes_.data(), axes_.size()}; }
  std::int64_t elements() const;
  bool is_row_major() const;
  /// Every place from 0 to elements() - 1 holds one element: a permutation of row-major bytes.
  bool is_dense() const;
  /// The lowest and the highest place of an element; {0, -1} without elements.
  std::pair<std::int64_t, std::int64_t> bounds() const;

  friend bool operator==(const Layout& a, const Layout& b) { return a.axes_ == b.axes_; }

 private:
  SmallVector<Axis, 4> axes_;
};

/// `[32:3136, 16:1, 196:16]`.
std::string to_text(const Layout& layout);

/// An axis of the row-major index that has one stride in each of two layouts.
struct CommonAxis {
  std::int64_t size = 1, first = 1, second = 1;
};

/// The fewest axes on which both layouts have one stride, the last axis fastest; none of size 1,
/// and none without elements. None at all where the axes of one do not divide those of the other,
/// such as blocks of 2 and blocks of 3; that cannot be when one of the two is row-major.
std::optional<SmallVector<CommonAxis, 8>> common_axes(const Layout& first, const Layout& second);

/// The layout of x when its elements are counted in the order in which those of `dense`, another
/// layout of as many elements, lie in memory: with it, a loop that writes a dense result from its
/// first byte to its last reads x. None where there are no common axes.
std::optional<Layout> in_memory_order(const Layout& x, const Layout& dense);

/// The axes of a layout, each inside one dimension of a shape. On the stack.
class DimAxes {
 public:
  /// None where the boundary between two dimensions falls inside an axis that it does not divide; a
  /// row-major layout has no such axis. Without elements no dimension has axes.
  static std::optional<DimAxes> of(const Layout& layout, std::span<const std::int64_t> shape);
  /// Outermost first; none for a dimension of size 1.
  std::span<const Layout::Axis> operator[](std::size_t dim) const {
    return std::span(axes_).subspan(first_[dim], first_[dim + 1] - first_[dim]);
  }

 private:
  std::array<Layout::Axis, max_dims> axes_;
  std::array<std::uint8_t, max_dims + 1> first_;  // in axes_, by dimension
};

/// A part of a value that shows other elements of the same bytes: where element 0 is, counted from
/// element 0 of the whole, and how the others lie.
struct ViewOf {
  std::int64_t first = 0;
  Layout layout;
};

// Views of a value of this layout and shape. None where DimAxes has none, or where a slice cuts an
// axis at a place that does not divide it. A row-major value always has its view.
std::optional<ViewOf> permuted(const Layout& x, std::span<const std::int64_t> shape,
                               std::span<const std::int64_t> dims);
/// Dimensions match from the right; one of size 1 repeats.
std::optional<ViewOf> spread_out(const Layout& x, std::span<const std::int64_t> shape,
                                 std::span<const std::int64_t> result);
/// From `starts`, by `steps`, to the size of the result; no steps: all 1.
std::optional<ViewOf> sliced(const Layout& x, std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> starts,
                             std::span<const std::int64_t> steps,
                             std::span<const std::int64_t> result);
std::optional<ViewOf> flipped(const Layout& x, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> dims);

}  // namespace hocket
