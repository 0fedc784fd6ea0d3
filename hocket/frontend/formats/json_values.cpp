#include "hocket/frontend/formats/json_values.h"

#include <cmath>
#include <limits>
#include <span>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::frontend {
namespace {

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName dtypes[] = {{"float64", DType::f64},   {"float32", DType::f32},
                                {"bfloat16", DType::bf16}, {"float16", DType::f16},
                                {"int64", DType::i64},     {"int32", DType::i32},
                                {"int16", DType::i16},     {"int8", DType::i8},
                                {"uint8", DType::u8},      {"bool", DType::boolean}};

/// Checks that nested lists match the shape, before memory is allocated.
void require_shape(Json value, std::span<const std::int64_t> shape) {
  if (shape.empty()) return;
  auto size = static_cast<std::int64_t>(value.array().size());
  if (size != shape[0])
    value.refuse(fmt::format("{}, wanted {}", count_of(size, "item"), shape[0]));
  for (Json item : value.array()) require_shape(item, shape.subspan(1));
}

template <class T>
T read_element(Json value, DType dtype) {
  if (value.is_object()) return read_element<T>(value.at("float"), dtype);
  if (value.kind() == Json::Kind::boolean) return store<T>(value.boolean());
  if (is_float(dtype)) return store<T>(read_float(value));
  std::int64_t number = value.integer();
  if (number < row(dtype).lowest || number > row(dtype).highest)
    value.refuse(fmt::format("{}, wanted {} to {} for {}", number, row(dtype).lowest,
                             row(dtype).highest, name(dtype)));
  return store<T>(number);
}

template <class T>
T* read_elements(Json value, std::span<const std::int64_t> shape, DType dtype, T* out) {
  if (shape.empty()) {
    *out = read_element<T>(value, dtype);
    return out + 1;
  }
  for (Json item : value.array()) out = read_elements(item, shape.subspan(1), dtype, out);
  return out;
}

}  // namespace

std::optional<DType> torch_dtype(std::string_view name) {
  for (const DTypeName& d : dtypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

std::string torch_dtype_names() {
  std::string names;
  for (const DTypeName& d : dtypes)
    names += fmt::format("{}{}",
                         names.empty()                ? ""
                         : &d == std::end(dtypes) - 1 ? " or "
                                                      : ", ",
                         d.name);
  return names;
}

Shape read_shape(Json value) {
  Shape shape;
  for (Json item : value.array()) {
    if (shape.size() == max_dims) value.refuse(fmt::format("more than {} dimensions", max_dims));
    shape.push_back(item.integer());
    if (shape.back() < 0) item.refuse(fmt::format("{}, wanted 0 or more", shape.back()));
  }
  if (!count_elements(shape)) value.refuse(fmt::format("{} is too large", dims_text(shape)));
  return shape;
}

Ints read_strides(Json value, std::size_t dims) {
  Ints strides;
  for (Json item : value.array()) {
    strides.push_back(item.integer());
    if (strides.back() < 0) item.refuse(fmt::format("{}, wanted 0 or more", strides.back()));
  }
  if (strides.size() != dims)
    value.refuse(fmt::format("{}, wanted {}", count_of(std::ssize(strides), "stride"), dims));
  return strides;
}

double read_float(Json value) {
  if (!value.is_string()) return value.number();
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::string_view text = value.string();
  if (text == "inf" || text == "Infinity") return inf;
  if (text == "-inf" || text == "-Infinity") return -inf;
  if (text == "nan" || text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  value.refuse(fmt::format("{}, wanted a number, \"inf\", \"-inf\" or \"nan\"", shown(text)));
}

Tensor read_tensor(Json value, const Type& type) {
  require_shape(value, type.shape);
  Tensor tensor(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    read_elements(value, type.shape, type.dtype, tensor.as<T>());
  });
  return tensor;
}

}  // namespace hocket::frontend
