#pragma once
// The operand dtypes that elementwise ops accept, found by calling `infer`.

#include <vector>

#include "hocket/ir/op.h"

namespace hocket::testing {

/// The dtypes of operands that `infer` of an elementwise op accepts: all equal, or a bool and then
/// all equal. None for an op that needs attributes and for one that is not elementwise.
std::vector<std::vector<DType>> signatures(const Op& op);

bool takes_floats(const Op& op);

}  // namespace hocket::testing
