#include "hocket/ops/copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "hocket/base/error.h"
#include "hocket/ops/walk.h"

namespace hocket {
namespace {

template <class T>
void copy_run(T* to, const T* from, std::int64_t stride, std::int64_t count) {
  if (stride == 1)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  else if (stride == 0)
    std::fill_n(to, count, *from);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

template <class T>
void copy_some(T* to, const T* from, std::span<const Layout::Axis> axes, std::int64_t begin,
               std::int64_t count) {
  Layout::Axis inner = axes.empty() ? Layout::Axis{} : axes.back();
  std::array<std::int64_t, max_dims> index;
  for (std::size_t i = axes.size(); i-- > 0; begin /= axes[i].size) {
    index[i] = begin % axes[i].size;
    from += index[i] * axes[i].stride;
  }
  std::int64_t at = axes.empty() ? 0 : index[axes.size() - 1];
  for (;;) {
    std::int64_t run = std::min(count, inner.size - at);
    copy_run(to, from, inner.stride, run);
    to += run;
    count -= run;
    if (count == 0) return;
    from -= at * inner.stride;
    at = 0;
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      from += axes[i].stride;
      if (++index[i] < axes[i].size) break;
      from -= axes[i].stride * axes[i].size;
      index[i] = 0;
    }
  }
}

/// A matrix whose rows are written one behind the other, `to_row` apart. Its columns are read one
/// behind the other, `from_column` apart. A square goes through a buffer, so that each line of the
/// cache is read and written once, also where rows lie a power of two apart.
template <class T>
void turn(T* to, std::int64_t to_row, std::int64_t rows, const T* from, std::int64_t from_row,
          std::int64_t from_column, std::int64_t columns) {
  constexpr std::int64_t square = std::max<std::int64_t>(8, 64 / sizeof(T));
  T buffer[square][square];
  for (std::int64_t r0 = 0; r0 < rows; r0 += square)
    for (std::int64_t c0 = 0; c0 < columns; c0 += square) {
      std::int64_t high = std::min(square, rows - r0), wide = std::min(square, columns - c0);
      const T* source = from + r0 * from_row + c0 * from_column;
      T* target = to + r0 * to_row + c0;
      if (high == square && wide == square && from_row == 1) {
        for (std::int64_t c = 0; c < square; ++c)
          for (std::int64_t r = 0; r < square; ++r) buffer[r][c] = source[c * from_column + r];
        for (std::int64_t r = 0; r < square; ++r)
          std::memcpy(target + r * to_row, buffer[r], sizeof buffer[r]);
        continue;
      }
      for (std::int64_t r = 0; r < high; ++r)
        for (std::int64_t c = 0; c < wide; ++c)
          target[r * to_row + c] = source[r * from_row + c * from_column];
    }
}

template <class T>
void copy_all(T* to, const T* from, std::span<const Layout::Axis> axes) {
  Walk<2> walk;  // places in `to` and `from`
  std::size_t nearest = 0;
  std::int64_t row = 1;
  for (std::size_t i = axes.size(); i-- > 0; row *= axes[i].size)
    walk.add_outer(axes[i].size, {row, axes[i].stride});
  auto stride = [&](std::size_t i) { return std::abs(walk.axes()[i].strides[1]); };
  for (std::size_t i = 1; i < walk.axes().size(); ++i)
    if (stride(i) > 0 && stride(i) < stride(nearest)) nearest = i;
  if (nearest == 0) {
    walk.for_each_run([&](auto at, std::int64_t size, auto strides) {
      copy_run(to + at[0], from + at[1], strides[1], size);
    });
    return;
  }
  auto rows = walk.take(nearest), columns = walk.take(0);
  walk.for_each([&](auto at) {
    turn(to + at[0], rows.strides[0], rows.size, from + at[1], rows.strides[1], columns.strides[1],
         columns.size);
  });
}

template <class F>
void with_element(std::int64_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      internal_fail("a copy of elements of {} bytes", bytes);
  }
}

}  // namespace

void copy_elements(std::byte* to, const std::byte* from, const Layout& layout,
                   std::int64_t element_bytes) {
  std::int64_t count = layout.elements();
  if (count == 0) return;
  if (layout.is_row_major()) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
    return;
  }
  with_element(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    copy_all(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), layout.axes());
  });
}

void copy_elements(std::byte* to, const std::byte* from, const Layout& layout,
                   std::int64_t element_bytes, std::int64_t begin, std::int64_t count) {
  if (count == 0) return;
  with_element(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    copy_some(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), layout.axes(), begin,
              count);
  });
}

}  // namespace hocket
