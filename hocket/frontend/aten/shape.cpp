#include "hocket/frontend/aten/shape.h"

#include "hocket/base/error.h"

namespace hocket::frontend {

Shape to_shape(const Ints& list) { return Shape(std::span<const std::int64_t>(list)); }

Ints in_order(std::size_t rank) {
  Ints dims(rank);
  for (std::size_t i = 0; i < rank; ++i) dims[i] = static_cast<std::int64_t>(i);
  return dims;
}

Value replaced(OperatorCall& c, Value whole, Value piece,
               SourceValue (*choose)(OperatorCall&, TensorId)) {
  Storages& storages = c.translation().storages;
  TensorId copy = storages.fresh(whole);
  TensorId place = *choose(c, copy).tensor;
  const Type type = storages.type(place);
  storages.write(c.at(), place, c.broadcast(c.cast(piece, type.dtype), type.shape));
  return storages.read(c.at(), copy);
}

Value into_zeros(OperatorCall& c, SourceValue (*choose)(OperatorCall&, TensorId)) {
  Value g = c.value("grad_output");
  Ints sizes = c.ints("input_sizes");
  if (!count_elements(sizes)) c.refuse(fmt::format("input_sizes {}", dims_text(sizes)));
  return replaced(c, c.filled({c.type(g).dtype, false, to_shape(sizes)}, 0.0), g, choose);
}

}  // namespace hocket::frontend
