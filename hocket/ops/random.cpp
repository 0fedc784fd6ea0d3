// Random numbers. The key (seed, offset) is an operand, so there is no hidden generator, and
// element i of a draw depends only on seed, offset and i.

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/philox.h"

namespace hocket::ops {
namespace {

void require_key(const InferCall& c, const Type& key) {
  if (key != Type{DType::i64, false, {2}})
    fail("{}: key is {}, wanted i64[2]", c.op.name, to_text(key));
}

std::vector<Type> infer_draw(const InferCall& c) {
  require_key(c, *c.inputs[0]);
  if (c.written.size() != 1 || c.written[0].pending || !is_float(c.written[0].dtype))
    fail("{}: found {}, wanted one result of floats", c.op.name,
         c.written.empty() ? "nothing" : to_text(c.written[0]));
  return {c.written[0]};
}

void require_probability(const InferCall& c) {
  double p = c.attr<double>("p");
  if (!(p >= 0 && p <= 1)) fail("{}: p is {}, wanted 0 to 1", c.op.name, p);
}

std::vector<Type> infer_bernoulli(const InferCall& c) {
  require_key(c, *c.inputs[0]);
  require_probability(c);
  if (c.written.size() != 1 || c.written[0].dtype != DType::boolean || c.written[0].pending)
    fail("bernoulli: found {}, wanted one result of bool",
         c.written.empty() ? "nothing" : to_text(c.written[0]));
  return {c.written[0]};
}

std::vector<Type> infer_dropout(const InferCall& c) {
  require_key(c, *c.inputs[1]);
  require_probability(c);
  const Type& x = *c.inputs[0];
  if (!is_float(x.dtype)) fail("dropout: operand is {}, wanted floats", to_text(x));
  return {x, {DType::boolean, false, x.shape}};
}

/// The precision of the dtype between 1/2 and 1, so that rounding never gives 1.
int uniform_bits(DType dtype) {
  return dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
}

template <class F>
void draw(const KernelCall& c, const ConstView& key, F f) {
  const auto* k = key.as<std::int64_t>();
  for (std::int64_t i = 0; i < c.out().type.elements(); ++i)
    f(i, random_block(k[0], k[1], static_cast<std::uint64_t>(i)));
}

void run_uniform(KernelCall& c) {
  const View& out = c.out();
  double low = c.attr<double>("low"), high = c.attr<double>("high");
  int bits = uniform_bits(out.type.dtype);
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    draw(c, c.inputs[0], [&](std::int64_t i, const PhiloxBlock& b) {
      T drawn = store<T>(low + (high - low) * unit_uniform(b, bits));
      // Rounding to T may give `high`, which is excluded.
      if (low < high && static_cast<double>(load(drawn)) >= high) drawn = store<T>(low);
      out.as<T>()[i] = drawn;
    });
  });
}

void run_normal(KernelCall& c) {
  const View& out = c.out();
  double mean = c.attr<double>("mean"), deviation = c.attr<double>("std");
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    draw(c, c.inputs[0], [&](std::int64_t i, const PhiloxBlock& b) {
      out.as<T>()[i] = store<T>(mean + deviation * unit_normal(b));
    });
  });
}

void run_bernoulli(KernelCall& c) {
  auto* out = c.out().as<std::uint8_t>();
  double p = c.attr<double>("p");
  draw(c, c.inputs[0],
       [&](std::int64_t i, const PhiloxBlock& b) { out[i] = unit_uniform(b, 53) < p ? 1 : 0; });
}

/// Kept elements are multiplied by 1 / (1 - p), computed in f64 and rounded to the compute dtype.
void run_dropout(KernelCall& c) {
  const ConstView& x = c.inputs[0];
  const View &y = c.out(0), &mask = c.out(1);
  double p = c.attr<double>("p"), gain = p < 1 ? 1 / (1 - p) : 0;
  visit(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    draw(c, c.inputs[1], [&](std::int64_t i, const PhiloxBlock& b) {
      bool keep = unit_uniform(b, 53) >= p;
      mask.as<std::uint8_t>()[i] = keep ? 1 : 0;
      auto element = load(x.as<T>()[i]);
      // Not a product with zero, which would turn an infinity into NaN.
      y.as<T>()[i] = store<T>(keep ? element * static_cast<decltype(element)>(gain) : 0);
    });
  });
}

/// For each element, ten rounds of two products, and as much again to turn the bits into a number.
double draw_flops(const InferCall& c) {
  return 40.0 * static_cast<double>(c.written[0].elements());
}

constexpr AttributeSpec probability{"p", AttributeKind::real, "from 0 to 1"};

}  // namespace

constinit const Op uniform{
    .name = "uniform",
    .doc = "evenly distributed from low to below high; its type is the one written for its result",
    .operands = {{"key"}},
    .attributes = {{"low", AttributeKind::real, "the lowest value", 0.0},
                   {"high", AttributeKind::real, "above the highest value", 1.0}},
    .infer = infer_draw,
    .kernel = run_uniform,
    .typed_by_result = true,
    .flops = draw_flops};

constinit const Op normal{.name = "normal",
                          .doc = "normally distributed; its type is the one written for its result",
                          .operands = {{"key"}},
                          .attributes = {{"mean", AttributeKind::real, "the middle", 0.0},
                                         {"std", AttributeKind::real, "standard deviation", 1.0}},
                          .infer = infer_draw,
                          .kernel = run_normal,
                          .typed_by_result = true,
                          .flops = draw_flops};

constinit const Op bernoulli{
    .name = "bernoulli",
    .doc = "true with probability p; its type is the one written for its result",
    .operands = {{"key"}},
    .attributes = {probability},
    .infer = infer_bernoulli,
    .kernel = run_bernoulli,
    .typed_by_result = true,
    .flops = draw_flops};

constinit const Op dropout{.name = "dropout",
                           .doc =
                               "x with elements set to zero with probability p, the others times 1 "
                               "/ (1 - p); also which were kept",
                           .operands = {{"x"}, {"key"}},
                           .attributes = {{"p", AttributeKind::real, "from 0 to 1"}},
                           .infer = infer_dropout,
                           .kernel = run_dropout,
                           .flops = draw_flops};

}  // namespace hocket::ops
