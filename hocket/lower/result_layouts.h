#pragma once
// Which values must be row-major, and how results lie where any layout will do.

#include <span>
#include <vector>

#include "hocket/lower/steps.h"

namespace hocket {

/// By value: does a reader want it row-major? Such are kernels, collectives, outputs and next
/// values. A reader that takes any layout does not count, nor does a view: it can make a copy
/// itself.
std::vector<char> must_be_row_major(const Graph& phase, const Steps& steps);

/// Whether the op's kernel, which reads any layout, can read an operand that lies so: not where its
/// loops would begin inside an axis. A row-major operand can always be read.
bool can_read(const Op& op, const Type& operand, const Layout& layout, const Layout& result);

/// The layout of a result of this type, of a kernel that reads and writes any layout: that of the
/// first operand which is dense but not row-major and has as many dimensions, so that a chain of
/// small ops behind a convolution keeps its blocks of channels; else row-major. Every operand can
/// be read in the order of the result.
Layout result_layout(std::span<const Type* const> types, std::span<const Layout> layouts,
                     const Type& result);

}  // namespace hocket
