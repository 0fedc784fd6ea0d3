#include <algorithm>

#include "hocket/ops/ops.h"

namespace hocket::ops {

const Op* find(std::string_view name) {
  auto it = std::ranges::find(all(), name, &Op::name);
  return it == all().end() ? nullptr : *it;
}

}  // namespace hocket::ops
