#pragma once
// Families of random programs: each family is one kind of program, drawn from a seed.

#include <cstdint>
#include <span>
#include <string_view>

#include "hocket/ir/program.h"
#include "support/random.h"

namespace hocket::testing {

struct RandomCase {
  Program program;
  Program reference = program;  ///< gives the same results without any pass
};

struct RandomFamily {
  std::string_view name;
  std::string_view doc;
  RandomCase (*make)(Random&);
};

std::span<const RandomFamily> random_families();

/// The family of the program with this index; families alternate.
const RandomFamily& family_at(std::uint64_t index);

/// The random generator for one program, determined by the seed and the index.
Random random_at(std::uint64_t seed, std::uint64_t index);
/// The program of the family at `index`.
RandomCase random_case(Random& random, std::uint64_t index);

}  // namespace hocket::testing
