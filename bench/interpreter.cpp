// Compares the interpreter with compiled code: a chain of elementwise ops with the same loop
// written in C++, and the forward pass of a transformer.

#include <fmt/core.h>

#include <cmath>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/ops/ops.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

constexpr std::int64_t elements = 1 << 20;

Tensor filled(const Type& type, float scale) {
  Tensor t(type);
  for (std::int64_t i = 0; i < type.elements(); ++i)
    t.as<float>()[i] = scale * static_cast<float>(std::sin(static_cast<double>(i)));
  return t;
}

/// y = max(x * a + b, 0) - x, twice.
Program chain() {
  Graph g;
  Type type{DType::f32, false, {elements}};
  Value x = g.add_input(type, "x"), a = g.add_input(type, "a"), b = g.add_input(type, "b");
  for (int i = 0; i < 2; ++i) x = ops::sub(g, ops::relu(g, ops::add(g, ops::mul(g, x, a), b)), x);
  g.add_output("y", x);
  return Program(std::move(g));
}

/// The same in C++, as one loop.
void compiled_chain(const float* x, const float* a, const float* b, float* y) {
  for (std::int64_t i = 0; i < elements; ++i) {
    float v = x[i];
    for (int k = 0; k < 2; ++k) {
      float t = v * a[i] + b[i];
      v = (t > 0 ? t : 0) - v;
    }
    y[i] = v;
  }
}

struct Transformer {
  std::int64_t layers = 12, width = 256, heads = 4, inner = 1024, batch = 2, tokens = 128;
};

Value linear(Graph& g, Value x, std::int64_t in, std::int64_t out, const std::string& name) {
  Value w = g.add_input({DType::f32, false, {in, out}}, name,
                        {.names = {name}, .state = true, .kind = StateKind::parameter});
  return ops::matmul(g, x, w);
}

Program transformer(const Transformer& t) {
  Graph g;
  std::int64_t rows = t.batch * t.tokens, head = t.width / t.heads;
  Value x = g.add_input({DType::f32, false, {rows, t.width}}, "x");
  Attributes norm = Attributes(ops::layer_norm, {}).with_list_sizes({1, 0, 0});
  auto normalised = [&](Value v) {
    return g.result(g.add(g, {.op = &ops::layer_norm, .inputs = {&v, 1}, .attributes = norm}));
  };
  auto split_heads = [&](Value v) {
    Value r = ops::reshape(g, {v}, {{"shape", Ints{t.batch, t.tokens, t.heads, head}}});
    return ops::permute(g, {r}, {{"dims", Ints{0, 2, 1, 3}}});
  };
  for (std::int64_t l = 0; l < t.layers; ++l) {
    std::string layer = fmt::format("layers.{}.", l);
    Value n = normalised(x);
    std::vector<Value> qkv;
    for (const char* name : {"q", "k", "v"})
      qkv.push_back(split_heads(linear(g, n, t.width, t.width, layer + name)));
    NodeId attention = g.add(
        g, {.op = &ops::attention,
            .inputs = qkv,
            .attributes =
                Attributes(ops::attention, {{"causal", true}}).with_list_sizes({1, 1, 1, 0})});
    Value joined =
        ops::reshape(g, {ops::permute(g, {g.result(attention)}, {{"dims", Ints{0, 2, 1, 3}}})},
                     {{"shape", Ints{rows, t.width}}});
    x = ops::add(g, x, linear(g, joined, t.width, t.width, layer + "out"));
    Value hidden = ops::gelu(g, linear(g, normalised(x), t.width, t.inner, layer + "up"));
    x = ops::add(g, x, linear(g, hidden, t.inner, t.width, layer + "down"));
  }
  g.add_output("y", x);
  return Program(std::move(g));
}

std::vector<std::vector<Tensor>> values_for(const Program& p) {
  std::vector<std::vector<Tensor>> inputs(1);
  for (const Input& in : p.graphs[0].inputs())
    inputs[0].push_back(filled(p.graphs[0].type(in.value), 0.05f));
  return inputs;
}

int run() {
  Bars bars;
  Program p = chain();
  auto inputs = values_for(p);
  std::vector<float> y(elements);
  std::vector<Variant> variants{{"compiled loop",
                                 [&] {
                                   double start = thread_seconds();
                                   for (int i = 0; i < 8; ++i)
                                     compiled_chain(inputs[0][0].as<float>(),
                                                    inputs[0][1].as<float>(),
                                                    inputs[0][2].as<float>(), y.data());
                                   return (thread_seconds() - start) / 8;
                                 }},
                                {"interpreter", [&] {
                                   double start = thread_seconds();
                                   interpret(p, inputs);
                                   return thread_seconds() - start;
                                 }}};
  fmt::print("8 elementwise ops on {} floats\n", elements);
  auto measured = measure(variants, {.samples = 7, .patience = 10, .progress = "chain"});
  print_table(measured);
  double ratio = measured[1].median / measured[0].median;
  bars.expect(ratio <= 20, "elementwise chain",
              fmt::format("{:.1f} times the compiled loop", ratio), "at most 20");

  Transformer shape;
  Program model = transformer(shape);
  auto weights = values_for(model);
  fmt::print("\nforward of a transformer: {} layers, width {}, {} heads, {} x {} tokens\n",
             shape.layers, shape.width, shape.heads, shape.batch, shape.tokens);
  Variant forward{"interpreter", [&] {
                    double start = thread_seconds();
                    interpret(model, weights);
                    return thread_seconds() - start;
                  }};
  auto timed = measure({&forward, 1}, {.samples = 5, .patience = 10, .progress = "transformer"});
  print_table(timed);
  bars.expect(timed[0].median < 10, "transformer forward", time_text(timed[0].median),
              "under 10 s");
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::run(); }
