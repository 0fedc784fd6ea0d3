#pragma once
// Conversion between constants in a graph and tensors.

#include <optional>

#include "hocket/ir/graph.h"
#include "hocket/ir/tensor.h"

namespace hocket::ops {

/// A constant written in the text has at most this many elements; larger ones are in the program's
/// table.
inline constexpr std::int64_t max_written_elements = 16;

/// The value of a written `constant`, or of a `full` with at most 16 elements;
/// nothing for others.
std::optional<Tensor> constant_value(const Graph& graph, Value v);

/// A `constant`, or a `full` where all elements have equal bits, of exactly
/// these bits. Nothing when the text could not hold them: more than 16
/// different elements, or a NaN with a payload.
std::optional<Value> add_constant(At at, const Tensor& tensor, std::string_view name = {});

}  // namespace hocket::ops
