#include "hocket/ops/infer.h"

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/world.h"

namespace hocket::ops {

void require_same_dtype(const InferCall& c, std::size_t first) {
  for (std::size_t i = first + 1; i < c.inputs.size(); ++i)
    if (c.inputs[i]->dtype != c.inputs[first]->dtype)
      fail("{}: operands are {} and {}, wanted one dtype; cast one of them", c.op.name,
           to_text(*c.inputs[first]), to_text(*c.inputs[i]));
}

Shape common_shape(const InferCall& c, std::size_t first) {
  const Type* shaped = nullptr;
  for (std::size_t i = first; i < c.inputs.size(); ++i) {
    const Type* t = c.inputs[i];
    if (t->shape.empty()) continue;
    if (shaped != nullptr && shaped->shape != t->shape)
      fail("{}: operands are {} and {}, wanted one shape; broadcast one of them", c.op.name,
           to_text(*shaped), to_text(*t));
    shaped = t;
  }
  return shaped != nullptr ? shaped->shape : Shape{};
}

static std::vector<Type> same(const InferCall& c) {
  require_same_dtype(c);
  return {{c.inputs[0]->dtype, false, common_shape(c)}};
}

std::vector<Type> same_numeric(const InferCall& c) {
  if (c.inputs[0]->dtype == DType::boolean)
    fail("{}: operand is {}, wanted numbers; cast it", c.op.name, to_text(*c.inputs[0]));
  return same(c);
}

std::vector<Type> same_floating(const InferCall& c) {
  if (!is_float(c.inputs[0]->dtype))
    fail("{}: operand is {}, wanted floats; cast it", c.op.name, to_text(*c.inputs[0]));
  return same(c);
}

std::vector<Type> same_integer(const InferCall& c) {
  if (!is_integer(c.inputs[0]->dtype))
    fail("{}: operand is {}, wanted integers; cast it", c.op.name, to_text(*c.inputs[0]));
  return same(c);
}

std::vector<Type> same_bits(const InferCall& c) {
  if (is_float(c.inputs[0]->dtype))
    fail("{}: operand is {}, wanted integers or bool; cast it", c.op.name, to_text(*c.inputs[0]));
  return same(c);
}

std::vector<Type> comparison(const InferCall& c) {
  require_same_dtype(c);
  return {{DType::boolean, false, common_shape(c)}};
}

std::int64_t group_size(const InferCall& c) {
  const auto& group = c.attr<std::string>("group");
  auto size = c.world.group_size(group);
  if (!size)
    fail("{}: unknown group {}{} [groups]", c.op.name, quoted(group),
         nearest_hint(group, c.world.group_names()));
  return *size;
}

double one_per_input(const InferCall& c) { return static_cast<double>(c.inputs[0]->elements()); }

void require_dims(const InferCall& c, const Ints& dims, std::size_t of) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= static_cast<std::int64_t>(of))
      fail("{}: dimension {} of {}, wanted 0 to {}", c.op.name, dims[i], to_text(*c.inputs[0]),
           static_cast<std::int64_t>(of) - 1);
    if (i > 0 && dims[i] <= dims[i - 1])
      fail("{}: dims {}, wanted ascending", c.op.name, dims_text(dims));
  }
}

}  // namespace hocket::ops
