// Builds a training step, prints it, transforms it and runs it on two ranks. Everything a first
// user of the library needs is on this page.

#include <cmath>
#include <cstdio>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"

using namespace hocket;

namespace {

/// y = x w, loss = sum((y - target)^2), w -= rate * gradient, the gradient summed over the ranks.
Graph training_step() {
  auto world = std::make_shared<const World>(std::vector<Axis>{{"dp", 2}});
  Graph g("step", world);
  Value w = g.add_input({DType::f32, false, {2, 1}}, "w",
                        {.names = {"layer.w"}, .state = true, .kind = StateKind::parameter});
  Value x = g.add_input({DType::f32, false, {4, 2}}, "x", {.names = {"x"}});
  Value target = g.add_input({DType::f32, false, {4, 1}}, "target", {.names = {"target"}});

  Value y = ops::matmul(g, x, w);
  Value error = ops::sub(g, y, target);
  Value loss = ops::sum(g, {ops::mul(g, error, error)}, {{"dims", Ints{0, 1}}});
  Value again =
      ops::sub(g, ops::matmul(g, x, w), target);  // a careless front end computes things twice
  Value gradient = ops::matmul(g, {x, again}, {{"transpose_a", true}});

  Value sent = ops::all_reduce(g, {gradient}, {{"group", "dp"}, {"reduce", "sum"}});
  Value total = ops::wait(g, sent);
  Tensor rate(Type{DType::f32, false, {}});
  rate.as<float>()[0] = 0.05f;
  Value step = ops::mul(g, total, *ops::add_constant(g, rate, "rate"));
  g.set_next(w, ops::sub(g, w, step));
  g.add_output("loss", loss);
  return g;
}

Tensor tensor(Shape shape, std::initializer_list<float> values) {
  Tensor t(Type{DType::f32, false, shape});
  std::copy(values.begin(), values.end(), t.as<float>());
  return t;
}

}  // namespace

int main() {
  Program program(training_step());
  verify(program);
  std::printf("as built:\n%s\n", to_text(program).c_str());

  compile(program);  // the default passes
  std::printf("after the default passes:\n%s\n", to_text(program).c_str());

  // Each rank has its own data; both fit the same line, target = 3 a - b.
  std::vector<std::vector<Tensor>> inputs{
      {tensor({2, 1}, {0, 0}), tensor({4, 2}, {1, 0, 0, 1, 1, 1, 2, 1}),
       tensor({4, 1}, {3, -1, 2, 5})},
      {tensor({2, 1}, {0, 0}), tensor({4, 2}, {1, 2, 0, 0, 1, -1, 0, 2}),
       tensor({4, 1}, {1, 0, 4, -2})},
  };
  float loss = 0;
  for (int iteration = 0; iteration < 100; ++iteration) {
    auto results = interpret(program, inputs);
    loss = results[0].outputs[0].as<float>()[0] + results[1].outputs[0].as<float>()[0];
    if (iteration % 20 == 0) std::printf("iteration %2d: loss %g\n", iteration, loss);
    for (std::size_t rank : {0, 1}) inputs[rank][0] = results[rank].state[0];
  }
  const float* w = inputs[0][0].as<float>();
  std::printf("w = %.3f, %.3f\n", w[0], w[1]);
  return std::fabs(w[0] - 3) < 1e-3f && std::fabs(w[1] + 1) < 1e-3f && loss < 1e-6f ? 0 : 1;
}
