#include "support/random_families.h"

#include "support/random_body.h"
#include "support/random_classes.h"
#include "support/random_mesh_step.h"
#include "support/random_pipeline.h"
#include "support/random_program.h"
#include "support/random_sharded.h"
#include "support/random_step.h"

namespace hocket::testing {
namespace {

RandomCase soup(Random& random) {
  int ranks = 1 << below(random, 3);
  return {random_program(random, {.ranks = ranks,
                                  .nodes = 5 + static_cast<int>(below(random, 45)),
                                  .loop = chance(random, 50)})};
}

RandomCase step(Random& random) { return {random_step(random, 1 << below(random, 3))}; }

template <Program (*make)(Random&)>
RandomCase plain(Random& random) {
  return {make(random)};
}

RandomCase body(Random& random) {
  RandomBody made = random_body(random);
  return {std::move(made.rotated), std::move(made.plain)};
}

constexpr RandomFamily families[] = {
    {"soup", "any ops in any order", soup},
    {"step", "gradients and optimizers", step},
    {"mesh", "training steps on meshes of up to three axes", plain<random_mesh_step>},
    {"stages", "graphs that send to each other", plain<random_stages>},
    {"classes", "graphs that meet in groups which cut across them", plain<random_classes>},
    {"sharded", "parameters and optimizer state in pieces", plain<random_sharded_step>},
    {"pipeline", "pipelines of microbatches, with tied ends", plain<random_pipeline>},
    {"body", "loop bodies with delays", body},
};

}  // namespace

std::span<const RandomFamily> random_families() { return families; }

const RandomFamily& family_at(std::uint64_t index) { return families[index % std::size(families)]; }

Random random_at(std::uint64_t seed, std::uint64_t index) { return Random(seed * 1000003 + index); }

RandomCase random_case(Random& random, std::uint64_t index) {
  return family_at(index).make(random);
}

}  // namespace hocket::testing
