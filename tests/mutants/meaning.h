#pragma once
// Plans that run safely but compute something else, as the comparison with the source judges them.

#include "safety.h"

namespace hocket::testing {

/// 0 when no plan that gives other bits is certified, and every plan without a mistake is.
int judge_meanings(const MutantOptions& options);

}  // namespace hocket::testing
