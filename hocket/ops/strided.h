#pragma once
// Iteration over a tensor with arbitrary strides.

#include "hocket/ir/tensor.h"
#include "hocket/ir/type.h"

namespace hocket {

/// Row-major strides, in elements.
Shape strides_of(const Shape& shape);

/// Fills `out` in row-major order from `in`, where a step along dimension i of
/// `out` is `strides[i]` elements in `in`.
void copy_strided(Tensor& out, const Tensor& in, const Shape& strides, std::int64_t first = 0);

/// Calls f(offset) for every index of `shape` in row-major order, offset being
/// the dot product with `strides`.
template <class F>
void for_each_offset(const Shape& shape, const Shape& strides, F f) {
  for (std::int64_t d : shape)
    if (d == 0) return;
  if (shape.empty()) return f(std::int64_t{0});
  Shape index(shape.size(), 0);
  std::size_t inner = shape.size() - 1;
  std::int64_t offset = 0;
  for (;;) {
    for (std::int64_t i = 0; i < shape[inner]; ++i) f(offset + i * strides[inner]);
    std::size_t d = inner;
    for (;;) {
      if (d == 0) return;
      --d;
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace hocket
