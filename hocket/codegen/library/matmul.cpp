// The matrix product as a oneDNN primitive.

#include "hocket/codegen/library/primitive.h"

namespace hocket::library {

std::shared_ptr<const Kernel> prepare_matmul(const Engine& engine, const KernelSpec& c) {
  const Shape& y = c.results[0].shape;
  const Shape& a = c.operands[0].shape;
  bool ta = c.attr<bool>("transpose_a"), tb = c.attr<bool>("transpose_b");
  std::size_t rank = y.size();
  std::int64_t batch = 1, m = y[rank - 2], n = y[rank - 1], k = a[rank - (ta ? 2 : 1)];
  for (std::size_t i = 0; i + 2 < rank; ++i) batch *= y[i];

  // A transposed operand is the same bytes with other strides; all leading dimensions become one.
  auto layout = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    dnnl::memory::dims dims{rows, columns}, strides{columns, 1};
    if (transposed) strides = {1, rows};
    if (batch > 1) {
      dims.insert(dims.begin(), batch);
      strides.insert(strides.begin(), rows * columns);
    }
    return dnnl::memory::desc(dims, *data_type(c.results[0].dtype), strides);
  };
  Argument left{DNNL_ARG_SRC, layout(m, k, ta)}, right{DNNL_ARG_WEIGHTS, layout(k, n, tb)},
      out{DNNL_ARG_DST, layout(m, n, false)};
  dnnl::matmul::primitive_desc description({left.plain, right.plain, out.plain}, with_scratchpad(),
                                           engine.cpu);
  if (std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
  return make_kernel(engine, c, description, {left, right}, out);
}

}  // namespace hocket::library
