// A reference kernel that is bound allocates nothing when it runs.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <new>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "ops/samples.h"
#include "support/any_layout.h"

namespace {

bool counts = false;
std::size_t count = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (counts) ++count;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace

// All that are used, since those of a sanitizer do not call each other; not inlined, or the
// compiler sees a `new` that is met by `free`.
[[gnu::noinline]] void* operator new(std::size_t size) { return allocate(size, 16); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return allocate(size, 16); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 16);
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t line,
                                       const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(line));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

namespace hocket {
namespace {

/// Runs all samples; by op, how often it ran.
std::map<std::string_view, int> run_all(bool only_row_major) {
  std::map<std::string_view, int> ran;
  testing::AnyLayout backend(1, only_row_major, [&](const Op& op, BoundKernel& kernel) {
    ++ran[op.name];
    count = 0;
    counts = true;
    kernel.run();
    counts = false;
    EXPECT_EQ(count, 0u) << op.name;
  });
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(sample.title());
    Program program = parse(sample.program, ops::all());
    Evaluator evaluator = make_evaluator(&backend);
    interpret(program, inputs_of(sample, program), {.evaluator = &evaluator});
  }
  return ran;
}

TEST(Allocation, NoReferenceKernelAllocates) {
  auto ran = run_all(true);
  for (const Op* op : ops::all()) {
    bool runs = op->body != nullptr || op->view != nullptr || op->kernel != nullptr;
    EXPECT_TRUE(!runs || ran[op->name] > 0) << op->name;
  }
  run_all(false);
}

}  // namespace
}  // namespace hocket
