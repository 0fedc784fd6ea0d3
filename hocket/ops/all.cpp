// The one list of ops.

#include <algorithm>

#include "hocket/ops/ops.h"

namespace hocket::ops {

std::span<const Op* const> all() {
  static constexpr const Op* list[] = {
      &add,
      &sub,
      &mul,
      &div,
      &neg,
      &maximum,
      &minimum,
      &relu,
      &sqrt,
      &exp,
      &tanh,
      &eq,
      &ne,
      &lt,
      &le,
      &select,
      &cast,
      &reshape,
      &permute,
      &broadcast,
      &sum,
      &matmul,
      &constant,
      &full,
      &rank,
      &shard,
      &all_reduce,
      &all_gather,
      &reduce_scatter,
      &barrier,
      &wait,
      &after,
      &call,
  };
  return list;
}

const Op* find(std::string_view name) {
  auto it = std::ranges::find(all(), name, &Op::name);
  return it == all().end() ? nullptr : *it;
}

}  // namespace hocket::ops
