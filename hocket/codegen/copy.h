#pragma once
// Copies of a value between two layouts.

#include <memory>

#include "hocket/codegen/backend.h"

namespace hocket {

/// What Backend::prepare_copy is without a faster one, for any dtype.
std::shared_ptr<const Kernel> prepare_plain_copy(const Layout& from, const Layout& to);

}  // namespace hocket
