// A step of the steady phase allocates no memory: neither the ranks nor the loop that drives them.

#include <gtest/gtest.h>

#include "hocket/codegen/library/library.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/iter/rotate.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "support/random_classes.h"
#include "support/random_program.h"
#include "tests/threads/allocations.h"

namespace hocket {
namespace {

using testing::Allocations;

/// What three steps allocate once the loop is in its steady phase.
std::pair<std::size_t, std::size_t> allocated(Executor& executor, const InputTables& inputs) {
  Loop loop(executor, inputs);
  (void)loop.step(inputs);
  while (loop.phase_name() != "steady") (void)loop.step(inputs);
  Allocations seen(Allocations::Of::all_threads);
  for (int k = 0; k < 3; ++k) (void)loop.step(inputs);
  seen.stop();
  (void)loop.finish();
  return {seen.ours(), seen.others()};
}

TEST(SteadyAllocation, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    testing::Random random(seed);
    testing::RandomProgram shape{.ranks = 2, .nodes = 60, .loop = seed % 2 == 1};
    Program program =
        seed % 4 == 2 ? testing::random_stages(random) : testing::random_program(random, shape);
    InputTables inputs = testing::random_inputs(random, program);
    comm::InProcess transport(program.world->ranks(), {.timed = seed % 3 != 0});
    Ranks ranks(program, transport);
    EXPECT_EQ(allocated(ranks, inputs), std::pair(std::size_t{0}, std::size_t{0}))
        << "seed " << seed << "\n"
        << to_text(program);
  }
}

/// A bucket of two dtypes that is carried over the boundary, an output of many dimensions, and
/// products by the library, which allocates a little itself.
TEST(SteadyAllocation, ALoopWithALibrary) {
  Program program = parse(R"(mesh(dp=2)
graph step(%w: state f32[8,8] "w" parameter, %x: f32[8,8] "x") {
  %y: f32[8,8] = matmul(%w, %x)
  %z: f64[8,8] = cast(%y) {dtype=f64}
  %a_name_that_does_not_fit_into_a_string_object: pending f32[8,8], %i: pending f64[8,8] = all_reduce(%y, %z) {group="dp"}
  %s: f32[8,8], %t: f64[8,8] = wait(%a_name_that_does_not_fit_into_a_string_object, %i)
  %c: f32[8,8] = cast(%t) {dtype=f32}
  %v: f32[8,8] = sub(%s, %c)
  %u: f32[8,8] = sub(%w, %v)
  %many: f32[1,2,2,2,1,8] = reshape(%y) {shape=[1,2,2,2,1,8]}
  next %w = %u
  return many=%many
})",
                          ops::all());
  Graph& g = program.graphs[0];
  NodeId late[] = {g.node(g.find("s")), g.node(g.find("c")), g.node(g.find("v")),
                   g.node(g.find("u"))};
  rotate(g, late);
  Tensor value(Type{DType::f32, false, {8, 8}});
  std::ranges::fill(value.bytes(), std::byte{1});
  InputTables inputs{{value, value}, {value, value}};
  comm::InProcess transport(2, {.link = comm::Link{1e9, 1e-5}});
  Ranks ranks(program, transport, {.backend = [] { return std::make_unique<Library>(); }});
  auto [ours, others] = allocated(ranks, inputs);
  EXPECT_EQ(ours, 0u);
  EXPECT_LE(others, 2u * 3 * 1024);  // of a product on two ranks, three times
}

/// The library lays images out in blocks of channels; inputs, states and outputs are row-major for
/// the caller all the same.
TEST(SteadyAllocation, ValuesThatLieInBlocks) {
  Program program = parse(
      R"(graph step(%x: f32[2,16,8,8] "x", %w: f32[16,16,3,3] "w", %s: state f32[2,16,8,8] "s" buffer) {
  %y: f32[2,16,8,8] = conv(%x, %w) {padding=[1,1]}
  %z: f32[2,16,8,8] = relu(%y)
  %c: f32[2,16,8,8] = conv(%z, %w) {padding=[1,1]}
  %d: f32[2,16,8,8] = add(%s, %c)
  next %s = %d
  return y=%y, z=%z, d=%d
})",
      ops::all());
  InputTables inputs(1);
  for (const Input& in : program.graphs[0].inputs())
    inputs[0].emplace_back(program.graphs[0].type(in.value));
  comm::InProcess transport(1);
  Ranks ranks(program, transport, {.backend = [] { return std::make_unique<Library>(); }});
  EXPECT_EQ(allocated(ranks, inputs).first, 0u);
}

/// Every reduction reads all operands at once.
TEST(SteadyAllocation, AGroupOfManyRanks) {
  Program program = parse(R"(mesh(dp=80)
graph step(%x: f32[80] "x") {
  %h: pending f32[80] = all_reduce(%x) {group="dp"}
  %y: f32[80] = wait(%h)
  %i: pending f32[1] = reduce_scatter(%y) {group="dp"}
  %z: f32[1] = wait(%i)
  return y=%y, z=%z
})",
                          ops::all());
  InputTables inputs(80, {Tensor(Type{DType::f32, false, {80}})});
  comm::InProcess transport(80);
  Ranks ranks(program, transport);
  EXPECT_EQ(allocated(ranks, inputs), std::pair(std::size_t{0}, std::size_t{0}));
}

}  // namespace
}  // namespace hocket
