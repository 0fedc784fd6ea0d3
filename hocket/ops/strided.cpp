#include "hocket/ops/strided.h"

#include "hocket/base/element.h"

namespace hocket {

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

void copy_strided(Tensor& out, const Tensor& in, const Shape& strides, std::int64_t first) {
  visit_size(out.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.as<T>() + first;
    T* to = out.as<T>();
    for_each_offset(out.type().shape, strides, [&](std::int64_t offset) { *to++ = from[offset]; });
  });
}

}  // namespace hocket
