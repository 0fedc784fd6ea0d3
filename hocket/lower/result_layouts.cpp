#include "hocket/lower/result_layouts.h"

#include <algorithm>

namespace hocket {
namespace {

/// The same order of dimensions and blocks in memory, for another shape of as many dimensions; none
/// where a dimension in blocks has another size.
std::optional<Layout> adapted(const Layout& layout, const Type& from, const Type& to) {
  if (from.shape.size() != to.shape.size()) return std::nullopt;
  std::optional<DimAxes> dims = DimAxes::of(layout, {from.shape.data(), from.shape.size()});
  if (!dims) return std::nullopt;
  std::vector<Layout::Axis> axes;
  for (std::size_t d = 0; d < to.shape.size(); ++d) {
    auto own = (*dims)[d];
    auto index = static_cast<std::uint32_t>(d);
    if (from.shape[index] == to.shape[index])
      axes.insert(axes.end(), own.begin(), own.end());
    else if (own.size() == 1)
      axes.push_back({to.shape[index], own[0].stride});
    else
      return std::nullopt;
  }
  // From the innermost axis to the outermost: dense strides in the old order.
  std::vector<std::size_t> order(axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return axes[i].stride; });
  std::int64_t stride = 1;
  for (std::size_t i : order) {
    axes[i].stride = stride;
    stride *= axes[i].size;
  }
  return Layout(axes);
}

bool readable(std::span<const Type* const> types, std::span<const Layout> layouts,
              const Type& result, const Layout& chosen) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i]->shape == result.shape && !in_memory_order(layouts[i], chosen)) return false;
  return true;
}

}  // namespace

bool can_read(const Op& op, const Type& type, const Layout& layout, const Layout& result) {
  if (op.body != nullptr) return type.shape.empty() || in_memory_order(layout, result).has_value();
  return DimAxes::of(layout, {type.shape.data(), type.shape.size()}).has_value();
}

std::vector<char> must_be_row_major(const Graph& phase, const Steps& steps) {
  std::vector<char> wanted(steps.types.size());
  for (Value v : phase[phase.return_node()].inputs) wanted[steps.number(v)] = 1;
  for (const Step& s : steps.steps) {
    auto operands = steps.operands(s);
    if (s.op->collective != nullptr) {
      for (ValueNumber v : operands) wanted[v] = 1;
    } else if (s.op->view == nullptr && s.kernel != nullptr) {
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (const Port& port = s.kernel->operands[i]; !port.any && port.layout.is_row_major())
          wanted[operands[i]] = 1;
    }
  }
  return wanted;
}

Layout result_layout(std::span<const Type* const> types, std::span<const Layout> layouts,
                     const Type& result) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (layouts[i].is_row_major() || !layouts[i].is_dense()) continue;
    std::optional<Layout> chosen =
        types[i]->shape == result.shape ? layouts[i] : adapted(layouts[i], *types[i], result);
    if (chosen && readable(types, layouts, result, *chosen)) return *chosen;
  }
  return Layout::row_major(result.elements());
}

}  // namespace hocket
