#pragma once
// Helpers for the translations of views and copies.

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

Shape to_shape(const Ints& list);
/// All dimensions of that rank.
Ints in_order(std::size_t rank);
/// A copy of `whole` in which the view chosen by `choose` is replaced by `piece`.
Value replaced(OperatorCall& c, Value whole, Value piece,
               SourceValue (*choose)(OperatorCall&, TensorId));
/// The gradient of such a view: zeros of shape `input_sizes` with `grad_output` at the place of the
/// view.
Value into_zeros(OperatorCall& c, SourceValue (*choose)(OperatorCall&, TensorId));

}  // namespace hocket::frontend
