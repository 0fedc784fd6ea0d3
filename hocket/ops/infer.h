#pragma once
// Type rules that several ops share.

#include <vector>

#include "hocket/ir/op.h"

namespace hocket::ops {

/// Elementwise: one dtype, one shape, rank-0 operands apply everywhere. The
/// suffix says which dtypes.
std::vector<Type> same_numeric(const InferCall&);
std::vector<Type> same_floating(const InferCall&);
std::vector<Type> same_integer(const InferCall&);
/// Integers or bool.
std::vector<Type> same_bits(const InferCall&);
/// The same, of any dtype, giving bool.
std::vector<Type> comparison(const InferCall&);

/// The common shape of elementwise operands, all but the rank-0 ones being
/// equal.
Shape common_shape(const InferCall&, std::size_t first = 0);
void require_same_dtype(const InferCall&, std::size_t first = 0);

/// The size of the group named by attribute `group`.
std::int64_t group_size(const InferCall&);

/// Arithmetic: one operation for each element of the first operand.
double one_per_input(const InferCall&);

/// Checks that the dims are below `of`, ascending and without repetition.
void require_dims(const InferCall&, const Ints& dims, std::size_t of);

}  // namespace hocket::ops
