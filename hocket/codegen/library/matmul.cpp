// The matrix product as a oneDNN primitive.

#include "hocket/codegen/library/prepared.h"

namespace hocket::library {

std::unique_ptr<Prepared> prepare_matmul(const Engine& engine, const KernelCall& c) {
  const Shape& y = c.types[0].shape;
  const Shape& a = c.inputs[0].type().shape;
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
    return dnnl::memory::desc(dims, *data_type(c.types[0].dtype), strides);
  };
  Port left{DNNL_ARG_SRC, layout(m, k, ta)}, right{DNNL_ARG_WEIGHTS, layout(k, n, tb)},
      out{DNNL_ARG_DST, layout(m, n, false)};
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc description({left.plain, right.plain, out.plain}, attributes,
                                           engine.cpu);
  if (std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
  return std::make_unique<Prepared>(engine, description, std::array{left, right}, out);
}

}  // namespace hocket::library
