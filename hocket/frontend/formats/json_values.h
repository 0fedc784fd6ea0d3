#pragma once
// Values that both graph formats write in the same way: shapes, floats, dtypes, small tensors.

#include <optional>
#include <string>
#include <string_view>

#include "hocket/frontend/formats/json.h"
#include "hocket/ir/attribute.h"
#include "hocket/ir/tensor.h"

namespace hocket::frontend {

/// The dtype with this name in PyTorch, such as `float32`; nothing if Hocket does not have it.
std::optional<DType> torch_dtype(std::string_view name);
/// The names of all dtypes, for messages.
std::string torch_dtype_names();

/// A list of sizes. Error when one is negative, or their number or product is too large.
Shape read_shape(Json value);
/// A list of strides: as many as there are dimensions, none negative.
Ints read_strides(Json value, std::size_t dims);

/// A number, or "inf", "-inf", "nan" (also "Infinity", "-Infinity", "NaN").
double read_float(Json value);

/// A number or nested lists of numbers, as deep and long as the shape says.
Tensor read_tensor(Json value, const Type& type);

}  // namespace hocket::frontend
