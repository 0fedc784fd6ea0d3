#pragma once
// Mistakes that a plan may have.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hocket/plan/plan.h"
#include "support/random.h"

namespace hocket::testing {

enum class Mutation : std::uint8_t {
  reordered,
  dropped,
  duplicated,
  retargeted,
  swapped,
  shifted,
  unwaited
};
inline constexpr std::array<std::string_view, 7> mutation_names = {
    "reordered",           "dropped",         "duplicated",    "retargeted",
    "swapped collectives", "shifted offsets", "removed waits",
};

/// Makes one mistake of this kind in the instructions and locations of the plan, and says where;
/// nothing where the plan has no place for it. The plan may break any rule afterwards.
std::optional<std::string> mutate(Plan& plan, Mutation kind, Random& random);

}  // namespace hocket::testing
