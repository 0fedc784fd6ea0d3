#include "hocket/ir/type.h"

#include "hocket/base/text.h"

namespace hocket {

std::optional<std::int64_t> count_elements(std::span<const std::int64_t> shape) {
  if (shape.size() > max_dims) return std::nullopt;
  std::int64_t product = 1;
  bool empty = false;
  for (std::int64_t d : shape) {
    if (d < 0 || d > max_elements) return std::nullopt;
    if (d == 0) empty = true;
    // Checked even if another dimension is zero: strides are products of the others.
    if (d > 1 && __builtin_mul_overflow(product, d, &product)) return std::nullopt;
    if (product > max_elements) return std::nullopt;
  }
  return empty ? 0 : product;
}

std::int64_t Type::elements() const {
  std::int64_t product = 1;
  for (std::int64_t d : shape) product *= d;
  return product;
}

static void append_shape(std::string& out, std::span<const std::int64_t> shape) {
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    append_number(out, shape[i]);
  }
  out += ']';
}

void append(std::string& out, const Type& type) {
  if (type.pending) out += "pending ";
  out += name(type.dtype);
  append_shape(out, type.shape);
}

std::string to_text(const Type& type) {
  std::string out;
  append(out, type);
  return out;
}

std::string dims_text(std::span<const std::int64_t> shape) {
  std::string out;
  append_shape(out, shape);
  return out;
}

}  // namespace hocket
