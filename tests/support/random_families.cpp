#include "support/random_families.h"

#include "support/random_classes.h"
#include "support/random_mesh_step.h"
#include "support/random_pipeline.h"
#include "support/random_program.h"
#include "support/random_sharded.h"
#include "support/random_step.h"

namespace hocket::testing {
namespace {

Program soup(Random& random) {
  int ranks = 1 << below(random, 3);
  return random_program(random, {.ranks = ranks,
                                 .nodes = 5 + static_cast<int>(below(random, 45)),
                                 .loop = chance(random, 50)});
}

Program step(Random& random) { return random_step(random, 1 << below(random, 3)); }

constexpr RandomFamily families[] = {
    {"soup", "any ops in any order", soup},
    {"step", "gradients and optimizers", step},
    {"mesh", "training steps on meshes of up to three axes", random_mesh_step},
    {"stages", "graphs that send to each other", random_stages},
    {"classes", "graphs that meet in groups which cut across them", random_classes},
    {"sharded", "parameters and optimizer state in pieces", random_sharded_step},
    {"pipeline", "pipelines of microbatches, with tied ends", random_pipeline},
};

}  // namespace

std::span<const RandomFamily> random_families() { return families; }

const RandomFamily& family_at(std::uint64_t index) { return families[index % std::size(families)]; }

RandomCase random_case(std::uint64_t seed, std::uint64_t index) {
  RandomCase drawn;
  drawn.random.seed(seed * 1000003 + index);
  drawn.program = family_at(index).make(drawn.random);
  return drawn;
}

}  // namespace hocket::testing
