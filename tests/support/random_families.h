#pragma once
// Families of random programs: each is one shape of what people train, drawn from a seed.

#include <cstdint>
#include <span>
#include <string_view>

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomFamily {
  std::string_view name;
  std::string_view doc;
  Program (*make)(Random&);
};

std::span<const RandomFamily> random_families();

/// Families take turns.
const RandomFamily& family_at(std::uint64_t index);

/// A program that is a function of two numbers.
struct RandomCase {
  Program program;
  Random random;  ///< for whatever else is drawn
};

RandomCase random_case(std::uint64_t seed, std::uint64_t index);

}  // namespace hocket::testing
