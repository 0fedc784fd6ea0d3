// Passes about collectives on PyTorch's own steps: how many buckets, of what, and what else is
// there.

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>

#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/gradients.h"

namespace hocket {
namespace {

std::map<std::string, int> starts(const Graph& g) {
  std::map<std::string, int> count;
  for (NodeId n : g.nodes())
    if (g[n].op->is_collective) ++count[std::string(g[n].op->name)];
  return count;
}

int count(const Graph& g, const Op& op) {
  int count = 0;
  for (NodeId n : g.nodes()) count += g[n].op == &op ? 1 : 0;
  return count;
}

struct Expected {
  const char* capture;
  std::map<std::string, int> before, after, gradients;
};

const Expected table[] = {
    {"mlp", {{"all_reduce", 6}}, {{"all_reduce", 1}}, {{"all_reduce", 6}}},
    {"gpt2", {{"all_reduce", 28}}, {{"all_reduce", 4}}, {{"all_reduce", 28}}},
    {"llama", {{"all_reduce", 21}}, {{"all_reduce", 4}}, {{"all_reduce", 21}}},
    {"resnet", {{"all_reduce", 20}}, {{"all_reduce", 9}}, {{"all_reduce", 20}}},
    {"mobilenet", {{"all_reduce", 142}}, {{"all_reduce", 9}}, {{"all_reduce", 142}}},
    {"llama_fsdp",
     {{"all_gather", 21}, {"reduce_scatter", 21}},
     {{"all_gather", 3}, {"reduce_scatter", 4}},
     {{"reduce_scatter", 21}}},
    {"tp", {{"all_reduce", 8}}, {{"all_reduce", 8}}, {}},
    {"ep",
     {{"all_reduce", 4}, {"all_to_all", 4}},
     {{"all_reduce", 1}, {"all_to_all", 4}},
     {{"all_reduce", 4}}},
};

TEST(Collectives, BytesThatCannotBeCountedAreMany) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum_of_bytes(3, 4), 7);
  EXPECT_EQ(sum_of_bytes(most, 1), most);
}

TEST(Buckets, OfCaptures) {
  int found = 0;
  for (const Expected& e : table) {
    std::string folder = std::string(HOCKET_DATA) + "/captures/" + e.capture;
    if (!std::filesystem::exists(folder)) continue;
    ++found;
    Program program = load(folder);
    Graph before = program.graphs[0];
    EXPECT_EQ(starts(before), e.before) << e.capture;
    std::map<std::string, int> gradients;
    std::vector<bool> is_gradient = find_gradient_collectives(before);
    for (NodeId n : std::as_const(before).nodes())
      if (is_gradient[n.index]) ++gradients[std::string(before[n].op->name)];
    EXPECT_EQ(gradients, e.gradients) << e.capture;

    PassTable passes = standard_passes();
    run_passes(program, passes, passes.parse("bucket-collectives:first=64KiB:cap=128KiB"));
    const Graph& after = program.graphs[0];
    EXPECT_EQ(starts(after), e.after) << e.capture;
    EXPECT_LE(after.size(), before.size()) << e.capture;
    for (const Op* op : {&ops::concat, &ops::slice, &ops::pad, &ops::reshape})
      EXPECT_EQ(count(after, *op), count(before, *op)) << e.capture << " " << op->name;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace hocket
