#pragma once
// Words that the translations of views and copies share.

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

Shape to_shape(const Ints& list);
/// All dimensions of that rank.
Ints in_order(std::size_t rank);
/// A copy of `whole` in which a view of it was replaced by `piece`.
Value replaced(OperatorCall& c, Value whole, Value piece,
               SourceValue (*choose)(OperatorCall&, TensorId));
/// The gradient of such a view: zeros of `input_sizes` but for `grad_output` in it.
Value into_zeros(OperatorCall& c, SourceValue (*choose)(OperatorCall&, TensorId));

}  // namespace hocket::frontend
