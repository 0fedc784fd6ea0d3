#include "hocket/ops/layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace hocket {
Layout::Layout(std::span<const Axis> axes) {
  for (Axis a : axes)
    if (a.size == 0) {
      axes_ = {{0, 1}};
      return;
    }
  for (Axis a : axes) {
    if (a.size == 1) continue;
    bool continues = !axes_.empty() && axes_.back().stride == a.size * a.stride;
    if (continues)
      axes_.back() = {axes_.back().size * a.size, a.stride};
    else
      axes_.push_back(a);
  }
}

Layout Layout::row_major(std::int64_t elements) { return {{elements, 1}}; }

std::int64_t Layout::elements() const {
  std::int64_t count = 1;
  for (Axis a : axes()) count *= a.size;
  return count;
}

bool Layout::is_row_major() const {
  return axes_.empty() || (axes_.size() == 1 && axes_[0].stride == 1);
}

bool Layout::is_dense() const {
  SmallVector<Axis, 4> sorted = axes_;
  std::ranges::sort(sorted, {}, &Axis::stride);
  std::int64_t next = 1;
  for (Axis a : sorted) {
    if (a.stride != next) return false;
    next *= a.size;
  }
  return true;
}

std::pair<std::int64_t, std::int64_t> Layout::bounds() const {
  if (elements() == 0) return {0, -1};
  std::int64_t low = 0, high = 0;
  for (Axis a : axes()) (a.stride < 0 ? low : high) += (a.size - 1) * a.stride;
  return {low, high};
}

std::string to_text(const Layout& layout) {
  std::string out = "[";
  for (Layout::Axis a : layout.axes())
    out += fmt::format("{}{}:{}", out.size() > 1 ? ", " : "", a.size, a.stride);
  return out + "]";
}

std::optional<SmallVector<CommonAxis, 8>> common_axes(const Layout& first, const Layout& second) {
  SmallVector<CommonAxis, 8> axes;
  auto a = first.axes().rbegin(), b = second.axes().rbegin();
  Layout::Axis left, right;  // what is left of the two axes at hand
  for (;;) {
    if (left.size == 1 && a != first.axes().rend()) left = *a++;
    if (right.size == 1 && b != second.axes().rend()) right = *b++;
    std::int64_t least = std::min(left.size, right.size), most = std::max(left.size, right.size);
    if (least < 2) break;
    if (most % least != 0) return std::nullopt;
    axes.push_back({least, left.stride, right.stride});
    left = {left.size / least, left.stride * least};
    right = {right.size / least, right.stride * least};
  }
  std::ranges::reverse(axes);
  return axes;
}

std::optional<Layout> in_memory_order(const Layout& x, const Layout& dense) {
  if (x == dense) return Layout::row_major(x.elements());
  if (dense.is_row_major()) return x;
  auto common = common_axes(x, dense);
  if (!common) return std::nullopt;
  std::ranges::sort(*common, std::greater{}, &CommonAxis::second);
  SmallVector<Layout::Axis, 8> axes;
  for (CommonAxis a : *common) axes.push_back({a.size, a.first});
  return Layout(std::span<const Layout::Axis>(axes.data(), axes.size()));
}

std::optional<DimAxes> DimAxes::of(const Layout& layout, std::span<const std::int64_t> shape) {
  DimAxes all;
  all.first_.fill(0);
  if (std::ranges::find(shape, 0) != shape.end()) return all;
  // From the last axis to the first, into the end of the array.
  std::size_t at = max_dims;
  auto next = layout.axes().rbegin();
  Layout::Axis left;
  std::array<std::uint8_t, max_dims> begins;
  for (std::size_t d = shape.size(); d-- > 0;) {
    for (std::int64_t size = shape[d]; size > 1;) {
      if (left.size == 1) left = *next++;
      std::int64_t least = std::min(left.size, size);
      if (left.size % least != 0 || size % least != 0) return std::nullopt;
      all.axes_[--at] = {least, left.stride};
      left = {left.size / least, left.stride * least};
      size /= least;
    }
    begins[d] = static_cast<std::uint8_t>(at);
  }
  std::copy_n(begins.begin(), shape.size(), all.first_.begin());
  all.first_[shape.size()] = max_dims;
  return all;
}

}  // namespace hocket
