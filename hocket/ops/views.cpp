// Layouts of values that show elements of another one.

#include <algorithm>
#include <vector>

#include "hocket/ops/layout.h"

namespace hocket {
namespace {

/// A view under construction: axes from the outermost to the innermost.
struct Building {
  std::int64_t first = 0;
  std::vector<Layout::Axis> axes;

  void add(std::span<const Layout::Axis> more) {
    axes.insert(axes.end(), more.begin(), more.end());
  }
  ViewOf view() const { return {first, Layout(axes)}; }
};

bool has_none(std::span<const std::int64_t> shape) {
  return std::ranges::find(shape, 0) != shape.end();
}

ViewOf empty_view() { return {0, Layout::row_major(0)}; }

/// `count` indices of a dimension, `step` apart.
struct Range {
  std::int64_t start, step, count;
};

/// Adds the part of a dimension with these axes, outermost first. False where it cuts an axis.
bool cut(Building& to, std::span<const Layout::Axis> axes, Range range) {
  if (range.count == 1) {  // whatever the axes are
    for (std::size_t i = axes.size(); i-- > 0; range.start /= axes[i].size)
      to.first += range.start % axes[i].size * axes[i].stride;
    return true;
  }
  Layout::Axis inner = axes.back();
  std::int64_t start = range.start % inner.size;
  if (axes.size() == 1 || start + (range.count - 1) * range.step < inner.size) {
    Range outer{range.start / inner.size, 1, 1};
    if (axes.size() > 1 && !cut(to, axes.first(axes.size() - 1), outer)) return false;
    to.first += start * inner.stride;
    // A step beyond the end is never taken; this keeps it from overflowing.
    to.axes.push_back({range.count, inner.stride * std::min(range.step, inner.size)});
    return true;
  }
  auto rest = axes.first(axes.size() - 1);
  if (range.step % inner.size == 0) {
    to.first += start * inner.stride;
    return cut(to, rest, {range.start / inner.size, range.step / inner.size, range.count});
  }
  std::int64_t each = inner.size / range.step;
  bool even = inner.size % range.step == 0 && start < range.step && range.count % each == 0;
  if (!even || !cut(to, rest, {range.start / inner.size, 1, range.count / each})) return false;
  to.first += start * inner.stride;
  to.axes.push_back({each, inner.stride * range.step});
  return true;
}

}  // namespace

std::optional<ViewOf> permuted(const Layout& x, std::span<const std::int64_t> shape,
                               std::span<const std::int64_t> dims) {
  auto axes = DimAxes::of(x, shape);
  if (!axes) return std::nullopt;
  if (has_none(shape)) return empty_view();
  Building to;
  for (std::int64_t d : dims) to.add((*axes)[static_cast<std::size_t>(d)]);
  return to.view();
}

std::optional<ViewOf> spread_out(const Layout& x, std::span<const std::int64_t> shape,
                                 std::span<const std::int64_t> result) {
  auto axes = DimAxes::of(x, shape);
  if (!axes) return std::nullopt;
  if (has_none(result)) return empty_view();
  Building to;
  std::size_t lead = result.size() - shape.size();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i >= lead && shape[i - lead] != 1)
      to.add((*axes)[i - lead]);
    else
      to.axes.push_back({result[i], 0});
  }
  return to.view();
}

std::optional<ViewOf> sliced(const Layout& x, std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> starts,
                             std::span<const std::int64_t> steps,
                             std::span<const std::int64_t> result) {
  auto axes = DimAxes::of(x, shape);
  if (!axes) return std::nullopt;
  if (has_none(result)) return empty_view();
  Building to;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!cut(to, (*axes)[i], {starts[i], steps.empty() ? 1 : steps[i], result[i]}))
      return std::nullopt;
  return to.view();
}

std::optional<ViewOf> flipped(const Layout& x, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> dims) {
  auto axes = DimAxes::of(x, shape);
  if (!axes) return std::nullopt;
  if (has_none(shape)) return empty_view();
  Building to;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    bool turned = std::ranges::find(dims, static_cast<std::int64_t>(i)) != dims.end();
    for (Layout::Axis a : (*axes)[i]) {
      if (turned) {
        to.first += (a.size - 1) * a.stride;
        a.stride = -a.stride;
      }
      to.axes.push_back(a);
    }
  }
  return to.view();
}

}  // namespace hocket
