// What a rank spends on an instruction besides its kernel: 10,000 kernels that do nothing, alone,
// beside a transfer in flight, and with a trace; the smallest kernel that does something; and a
// step without any instruction. How long two ranks take from a plan of 40K nodes to their first
// step. And the hash of issued calls, by which ranks compare their order.
//
// Bars: 10,000 empty kernels at under 0.2 us each; the hash under 1 us per collective.

#include <fmt/core.h>

#include <algorithm>

#include "families.h"
#include "hocket/codegen/library/library.h"
#include "hocket/comm/in_process.h"
#include "hocket/comm/issued_order.h"
#include "hocket/ir/parse.h"
#include "hocket/lower/lower.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

constexpr int kernels = 10'000;

/// Prepares kernels that do nothing, for every op.
class Idle final : public Backend {
 public:
  std::string_view name() const override { return "idle"; }
  std::string numerics() const override { return "idle"; }
  std::shared_ptr<const Kernel> prepare(const KernelSpec& spec) override {
    auto kernel = std::make_shared<Empty>();
    for (const Type& type : spec.operands)
      kernel->operands.push_back({Layout::row_major(type.elements())});
    for (const Type& type : spec.results)
      kernel->results.push_back({Layout::row_major(type.elements())});
    kernel->may_overwrite.resize(spec.results.size());
    return kernel;
  }

 private:
  struct Bound final : BoundKernel {
    void run() override {}
  };
  struct Empty final : Kernel {
    std::unique_ptr<BoundKernel> bind(std::span<const ConstView>, std::span<const View>,
                                      std::span<std::byte>) const override {
      return std::make_unique<Bound>();
    }
  };
};

/// A chain of negations, at will beside a transfer that takes longer.
Program chain(int length, bool transfer) {
  std::string text = "mesh(dp=1)\ngraph step(%v0: f32[1], %g: f32[1]) {\n";
  if (transfer)
    text =
        "mesh(dp=2)\ngraph step(%v0: f32[1], %g: f32[1]) {\n"
        "  %h: pending f32[1] = all_reduce(%g) {group=\"dp\"}\n";
  for (int i = 0; i < length; ++i) text += fmt::format("  %v{}: f32[1] = neg(%v{})\n", i + 1, i);
  if (transfer) text += "  %s: f32[1] = wait(%h)\n";
  return parse(text + fmt::format("  return %v{}{}\n}}\n", length, transfer ? ", %s" : ""),
               ops::all());
}

struct Setting {
  std::string name;
  int length = kernels;
  bool idle = true, transfer = false, trace = false;
};

/// Seconds of a step, without the time in waits.
double seconds_of(const Setting& s, int steps) {
  Program program = chain(s.length, s.transfer);
  // A transfer that ends after all kernels: every one of them is followed by a test.
  comm::InProcessOptions options;
  if (s.transfer) options.link = comm::Link{1e12, 20e-3};
  comm::InProcess transport(program.world->ranks(), options);
  RanksOptions how{.trace = s.trace};
  if (s.idle) how.backend = [] { return std::make_unique<Idle>(); };
  Ranks ranks(program, transport, how);
  Tensor one(Type{DType::f32, false, {1}});
  one.as<float>()[0] = 1;
  InputTables inputs(static_cast<std::size_t>(program.world->ranks()), {one, one});
  Loop loop(ranks, inputs);
  std::vector<double> seconds;
  for (int k = 0; k < steps; ++k) {
    auto begin = std::chrono::steady_clock::now();
    (void)loop.step(inputs);
    seconds.push_back(since(begin) - ranks.times()[0].exposed);
  }
  return median(std::move(seconds));
}

/// The seconds of a start, from a plan to ranks that have state.
double start_seconds(const std::shared_ptr<const Plan>& plan, const RanksOptions& how) {
  const Graph& g = plan->program.graphs[0];
  InputTables inputs(2);
  for (const Input& in : g.inputs())
    for (auto& row : inputs) row.emplace_back(g.type(in.value));
  auto begin = std::chrono::steady_clock::now();
  comm::InProcess transport(2);
  Ranks ranks(plan, transport, how);
  Loop loop(ranks, inputs);
  return since(begin);
}

void print_starts() {
  constexpr std::size_t nodes = 40'000;
  Program program(make_layered(nodes));
  for (bool by_library : {false, true}) {
    RanksOptions how;
    if (by_library) how.backend = [] { return std::make_unique<Library>(); };
    auto backend = how.backend ? how.backend() : nullptr;
    auto plan = std::make_shared<const Plan>(lower(program, {.backend = backend.get()}));
    std::vector<double> seconds;
    for (int k = 0; k < 7; ++k) seconds.push_back(start_seconds(plan, how));
    fmt::print("start of two ranks, {:<10} {} instructions: {}\n",
               by_library ? "library," : "reference,",
               plan->graphs[0].phases[0].instructions.size(), time_text(median(seconds)));
  }
}

/// Seconds of hashing one call of so many members into the order of a rank.
double seconds_of_order(std::size_t members) {
  constexpr int calls = 10'000;
  std::vector<comm::Member> list(members);
  for (std::size_t i = 0; i < members; ++i) list[i].count = static_cast<std::int64_t>(1000 + i);
  comm::IssuedOrder order;
  std::vector<double> seconds;
  for (int k = 0; k < 200; ++k) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) order.issue({.channel = i, .members = list});
    seconds.push_back(since(begin) / calls);
  }
  if (order.order() == 0) fmt::print("an unlikely hash\n");  // uses the result
  return median(std::move(seconds));
}

int main_overhead() {
  print_machine(probe());
  Bars bars;
  double nothing = seconds_of({.name = "", .length = 0}, 2000);
  fmt::print("\na step without kernels: {}\n", time_text(nothing));
  for (const Setting& s : std::vector<Setting>{{"empty kernels"},
                                               {.name = "beside a transfer", .transfer = true},
                                               {.name = "with a trace", .trace = true},
                                               {.name = "neg of one element", .idle = false}}) {
    double each = (seconds_of(s, s.transfer ? 20 : 200) - nothing) / kernels;
    fmt::print("{:<20} {} each\n", s.name, time_text(each));
    if (s.name == "empty kernels")
      bars.expect(each < 0.2e-6, s.name, time_text(each), "under 0.2 us");
  }
  print_starts();
  for (std::size_t members : {1, 10, 100}) {
    double each = seconds_of_order(members);
    std::string name = fmt::format("order hash, {} member{}", members, members == 1 ? "" : "s");
    fmt::print("{:<20} {} per collective\n", name, time_text(each));
    bars.expect(each < 1e-6, name, time_text(each), "under 1 us");
  }
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::main_overhead(); }
