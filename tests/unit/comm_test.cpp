// Ranks in one process give the bits that the interpreter gives.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "tests/comm/reference.h"

namespace hocket {
namespace {

using comm::Kind;

/// One call of every kind that is a value in the language, on x of 3 * `ranks` elements.
Program every_call(std::string_view dtype, std::string_view reduce, int ranks) {
  std::string whole = fmt::format("{}[{}]", dtype, 3 * ranks), piece = fmt::format("{}[3]", dtype),
              joined = fmt::format("{}[{}]", dtype, 3 * ranks * ranks);
  std::string reduced = fmt::format("group=\"dp\", reduce=\"{}\"", reduce);
  std::string text = fmt::format("mesh(dp={})\ngraph step(%x: {}) {{\n", ranks, whole), returns;
  auto call = [&](std::string_view name, std::string_view type, std::string_view attributes) {
    text += fmt::format("  %{0}_p: pending {1} = {0}(%x) {{{2}}}\n  %{0}_w: {1} = wait(%{0}_p)\n",
                        name, type, attributes);
    returns += fmt::format("{}%{}_w", returns.empty() ? "" : ", ", name);
  };
  call("all_reduce", whole, reduced);
  call("reduce", whole, reduced + ", root=1");
  call("reduce_scatter", piece, reduced);
  call("all_gather", joined, "group=\"dp\"");
  call("all_to_all", whole, "group=\"dp\"");
  call("broadcast_from", whole, "group=\"dp\", root=1");
  return parse(text + "  return " + returns + "\n}", ops::all());
}
constexpr Kind order[] = {Kind::all_reduce, Kind::reduce,     Kind::reduce_scatter,
                          Kind::all_gather, Kind::all_to_all, Kind::broadcast};

void compare(DType dtype, comm::Reduce reduce, int ranks) {
  std::vector<std::vector<Tensor>> inputs;
  for (int r = 0; r < ranks; ++r) {
    Tensor x(Type{dtype, false, {3 * ranks}});
    auto random = comm::random_elements(dtype, 3 * ranks, static_cast<std::uint64_t>(r) * 100 + 7);
    std::ranges::copy(random, x.bytes().data());
    inputs.push_back({x});
  }
  auto wanted = interpret(every_call(name(dtype), name(reduce), ranks), inputs);
  comm::InProcess world(ranks);
  comm::expect_no_errors(comm::run_ranks(world, [&](int rank) {
    auto r = static_cast<std::size_t>(rank);
    auto group = world.all(rank);
    for (std::size_t i = 0; i < std::size(order); ++i) {
      const Tensor& expected = wanted[r].outputs[i];
      Tensor result(expected.type());
      comm::Member m{std::as_const(inputs[r][0]).bytes().data(), result.bytes().data(), 3 * ranks};
      group->start({order[i], reduce, dtype, 1, 0, {&m, 1}, {}}).wait();
      EXPECT_TRUE(std::ranges::equal(std::as_const(result).bytes(), expected.bytes()))
          << name(order[i]) << " " << name(reduce) << " " << name(dtype);
    }
  }));
}

TEST(Comm, HasTheBitsOfTheInterpreter) {
  using enum comm::Reduce;
  for (std::size_t d = 0; d < dtype_rows().size(); ++d)
    for (comm::Reduce reduce : {sum, avg, min, max, product}) {
      auto dtype = static_cast<DType>(d);
      // The language reduces no bools, and averages floats only.
      if (dtype == DType::boolean || (reduce == avg && !is_float(dtype))) continue;
      for (int ranks : {2, 3, 4}) compare(dtype, reduce, ranks);
    }
}

}  // namespace
}  // namespace hocket
