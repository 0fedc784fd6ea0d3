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

/// A program and how it is to be compiled and run, all a function of two numbers.
struct RandomCase {
  const RandomFamily* family = nullptr;
  Program program;
  Random random;  ///< for whatever else is drawn
};

/// Case `index` of a seed: families take turns.
RandomCase random_case(std::uint64_t seed, std::uint64_t index);

}  // namespace hocket::testing
