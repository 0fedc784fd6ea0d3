#include "support/random_families.h"

#include "support/random_program.h"
#include "support/random_step.h"

namespace hocket::testing {
namespace {

Program soup(Random& random) {
  int ranks = 1 << below(random, 3);
  return random_program(random, {.ranks = ranks,
                                 .nodes = 5 + static_cast<int>(below(random, 45)),
                                 .loop = chance(random, 50)});
}

Program stages(Random& random) {
  return random_program(random, {.ranks = chance(random, 50) ? 2 : 4,
                                 .nodes = 10 + static_cast<int>(below(random, 40)),
                                 .stages = true});
}

Program step(Random& random) { return random_step(random, 1 << below(random, 3)); }

constexpr RandomFamily families[] = {
    {"soup", "any ops in any order", soup},
    {"stages", "two graphs that send to each other", stages},
    {"step", "gradients and optimizers", step},
};

}  // namespace

std::span<const RandomFamily> random_families() { return families; }

RandomCase random_case(std::uint64_t seed, std::uint64_t index) {
  RandomCase drawn;
  drawn.random.seed(seed * 1000003 + index);
  drawn.family = &families[index % std::size(families)];
  drawn.program = drawn.family->make(drawn.random);
  return drawn;
}

}  // namespace hocket::testing
