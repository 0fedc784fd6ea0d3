// The layouts of oneDNN as layouts of ours.

#include <algorithm>
#include <functional>

#include "hocket/codegen/library/primitive.h"

namespace hocket::library {

/// A dimension in blocks, such as the channels of nChw16c, has one axis for the number of blocks
/// and one for each block inside. The innermost block of the memory comes last.
std::optional<Layout> layout_of(const dnnl::memory::desc& description) {
  const dnnl_memory_desc_t& d = description.data;
  if (d.format_kind != dnnl_blocked || d.extra.flags != dnnl_memory_extra_flag_none ||
      d.offset0 != 0 || !std::equal(d.dims, d.dims + d.ndims, d.padded_dims))
    return std::nullopt;
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  std::vector<Layout::Axis> axes;
  for (int i = 0; i < d.ndims; ++i) {
    std::size_t first = axes.size();
    std::int64_t inside = 1, in_blocks = 1;  // elements of a block of memory, of the dimension's
    for (int b = blocking.inner_nblks - 1; b >= 0; --b) {
      std::int64_t size = blocking.inner_blks[b];
      if (blocking.inner_idxs[b] == i) {
        axes.push_back({size, inside});
        in_blocks *= size;
      }
      inside *= size;
    }
    axes.push_back({d.dims[i] / in_blocks, blocking.strides[i]});
    std::reverse(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
  }
  Layout layout(axes);
  if (!layout.is_dense()) return std::nullopt;
  return layout;
}

}  // namespace hocket::library
