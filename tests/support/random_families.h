#pragma once
// Families of random programs: each is one shape of what people train, drawn from a seed.

#include <cstdint>
#include <span>
#include <string_view>

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomCase {
  Program program;
  Program reference = program;  ///< gives the same without any pass
};

struct RandomFamily {
  std::string_view name;
  std::string_view doc;
  RandomCase (*make)(Random&);
};

std::span<const RandomFamily> random_families();

/// Families take turns.
const RandomFamily& family_at(std::uint64_t index);

/// For everything that is drawn about one program: a function of two numbers.
Random random_at(std::uint64_t seed, std::uint64_t index);
/// The program of the family at `index`.
RandomCase random_case(Random& random, std::uint64_t index);

}  // namespace hocket::testing
