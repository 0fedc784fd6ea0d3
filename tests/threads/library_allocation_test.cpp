// What a run of a bound kernel allocates: the library a little, we nothing. Row-major convolutions
// are products of oneDNN's, which gets memory for those from the system and not by `new`.

#include <gtest/gtest.h>

#include "hocket/codegen/copy.h"
#include "hocket/codegen/library/library.h"
#include "tests/threads/allocations.h"
#include "tests/threads/library_cases.h"

namespace hocket {
namespace {

struct Sum {
  std::size_t ours = 0, others = 0;
};

Sum allocated_by_run(BoundKernel& kernel) {
  kernel.run();  // what is made once
  testing::Allocations seen(testing::Allocations::Of::this_thread);
  kernel.run();
  seen.stop();
  return {seen.ours(), seen.others()};
}

TEST(LibraryAllocation, ARunAllocatesSomeHundredBytes) {
  Library library;
  std::vector<Case> cases = matmuls("f32");
  for (Case& c : convolutions("f32")) cases.push_back(std::move(c));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.title());
    auto kernel = library.prepare(c.spec());
    ASSERT_NE(kernel, nullptr);
    Tensor a(c.operands[0]), b(c.operands[1]), y(c.results[0]);
    Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
    std::vector<ConstView> from{{a.type(), kernel->operands[0].layout, a.bytes().data()},
                                {b.type(), kernel->operands[1].layout, b.bytes().data()}};
    View to{y.type(), kernel->results[0].layout, y.bytes().data()};
    Sum sum = allocated_by_run(*kernel->bind(from, {&to, 1}, workspace.bytes()));
    EXPECT_EQ(sum.ours, 0u);
    bool reorders = kernel->operands[0].layout.is_row_major();  // up to three calls more
    EXPECT_LE(sum.others, reorders ? 2048u : 1024u);
  }
}

TEST(LibraryAllocation, SoDoesACopy) {
  Library library;
  Layout row = Layout::row_major(32 * 64), blocks{{2, 1024}, {16, 1}, {64, 16}};
  Type type{DType::f32, false, {32, 64}};
  Tensor a(type), b(type);
  ConstView from = view_of(std::as_const(a));
  View to{type, blocks, b.bytes().data()};
  for (const auto& kernel :
       {library.prepare_copy(type.dtype, row, blocks), prepare_plain_copy(row, blocks)}) {
    Sum sum = allocated_by_run(*kernel->bind({&from, 1}, {&to, 1}, {}));
    EXPECT_EQ(sum.ours, 0u);
    EXPECT_LE(sum.others, 1024u);
  }
}

}  // namespace
}  // namespace hocket
