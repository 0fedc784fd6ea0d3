#pragma once
// Sets of blocks for tests of memory plans: those of programs, and random ones.

#include <span>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/lower/place_blocks.h"
#include "support/random.h"

namespace hocket::testing {

/// About the blocks that a plan of the graph needs, besides those of its state. A value is in use
/// from its node to its last reader, a transfer until its wait. Waits and views keep the bytes of
/// their operand, and an elementwise node those of an operand that it reads last. The members of an
/// all-reduce are one block, with its operands if nobody else reads them. Some products get a
/// workspace.
std::vector<Block> blocks_of(const Graph& g);

/// The same lifetimes with sizes of any order of magnitude.
void draw_sizes(Random& random, std::span<Block> blocks);

struct BlockFamily {
  std::string_view name;
  std::vector<Block> (*make)(Random&, std::size_t n);
};

/// Sizes (uniform, of any magnitude, powers of two, two different ones) with lifetimes: of any
/// length, short, mostly short, nested, or those of a step forwards and backwards.
std::span<const BlockFamily> block_families();

}  // namespace hocket::testing
