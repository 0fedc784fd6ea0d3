#pragma once
// Mistakes after which a plan may still be safe, but computes something else.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hocket/plan/plan.h"
#include "support/random.h"

namespace hocket::testing {

enum class Mistake : std::uint8_t {
  operands,
  stale,
  slot,
  member,
  reduction,
  attribute,
  op,
  outputs,
  inputs,
  update,
  twice,
  order
};
inline constexpr std::array<std::string_view, 12> mistake_names = {
    "operands swapped", "stale state",     "wrong slot", "wrong member",
    "wrong reduction",  "wrong attribute", "wrong op",   "outputs exchanged",
    "inputs exchanged", "dropped update",  "done twice", "done too late",
};

/// Makes one mistake of this kind, and says where; nothing where the plan has no place for it.
std::optional<std::string> mistake(Plan& plan, Mistake kind, Random& random);

}  // namespace hocket::testing
