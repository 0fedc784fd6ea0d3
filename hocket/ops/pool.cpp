// Pooling over the last one to three dimensions.

#include <array>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

/// One spatial dimension of a pooling.
struct Side {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t start(std::int64_t p) const { return p * stride - padding; }
};

template <class Call>
std::array<Side, 3> sides(const Call& c, const Shape& x, bool dilated) {
  const Ints& kernel = c.template attr<Ints>("kernel");
  auto at = [&](std::string_view name, std::size_t i, std::int64_t missing) {
    const Ints& list = c.template attr<Ints>(name);
    return list.empty() ? missing : list[i];
  };
  std::array<Side, 3> all;
  // Missing dimensions come first, so that the last one is always the innermost.
  std::size_t missing_dims = 3 - kernel.size();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    Side& s = all[missing_dims + i];
    s.in = x[x.size() - kernel.size() + i];
    s.kernel = kernel[i];
    s.stride = at("stride", i, kernel[i]);
    s.padding = at("padding", i, 0);
    s.dilation = dilated ? at("dilation", i, 1) : 1;
    std::int64_t room = s.in + 2 * s.padding - s.dilation * (s.kernel - 1) - 1;
    bool up = c.template attr<bool>("ceil");
    s.out = room < 0 ? 0 : (room + (up ? s.stride - 1 : 0)) / s.stride + 1;
    // When rounding up, the last window must still start inside x or its left padding.
    if (up && (s.out - 1) * s.stride >= s.in + s.padding) --s.out;
  }
  return all;
}

Shape pooled_shape(const InferCall& c, const Type& x, bool dilated) {
  const Ints& kernel = c.attr<Ints>("kernel");
  if (!is_float(x.dtype)) fail("{}: operand is {}, wanted floats", c.op.name, to_text(x));
  if (kernel.empty() || kernel.size() > 3 || x.shape.size() < kernel.size())
    fail("{}: kernel {} on {}, wanted 1 to 3 of its last dimensions", c.op.name, dims_text(kernel),
         to_text(x));
  for (std::string_view name : {"kernel", "stride", "padding", "dilation"}) {
    if (name == "dilation" && !dilated) continue;
    const Ints& list = c.attr<Ints>(name);
    bool sane = list.empty() || list.size() == kernel.size();
    for (std::int64_t v : list) sane = sane && v >= (name == "padding" ? 0 : 1) && v < (1 << 20);
    if (!sane) fail("{}: {} {}", c.op.name, name, dims_text(list));
  }
  Shape y = x.shape;
  auto all = sides(c, x.shape, dilated);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Side& s = all[3 - kernel.size() + i];
    if (s.out < 1) fail("{}: the window does not fit into {}", c.op.name, to_text(x));
    if (2 * s.padding > s.kernel)
      fail("{}: padding {} of a kernel of {}, wanted at most half", c.op.name, s.padding, s.kernel);
    y[x.shape.size() - kernel.size() + i] = s.out;
  }
  return y;
}

std::vector<Type> infer_max_pool(const InferCall& c) {
  Shape y = pooled_shape(c, *c.inputs[0], true);
  return {{c.inputs[0]->dtype, false, y}, {DType::i64, false, y}};
}

std::vector<Type> infer_avg_pool(const InferCall& c) {
  return {{c.inputs[0]->dtype, false, pooled_shape(c, *c.inputs[0], false)}};
}

Type shaped(const InferCall& c) {
  const Ints& shape = c.attr<Ints>("shape");
  if (!count_elements(shape))
    fail("{}: shape {} is negative or too large", c.op.name, dims_text(shape));
  return {c.inputs[0]->dtype, false, Shape(std::span<const std::int64_t>(shape))};
}

std::vector<Type> infer_max_pool_grad(const InferCall& c) {
  Type x = shaped(c);
  const Type &dy = *c.inputs[0], &indices = *c.inputs[1];
  auto spatial = c.attr<std::int64_t>("spatial");
  bool fits = is_float(dy.dtype) && indices.dtype == DType::i64 && indices.shape == dy.shape &&
              dy.shape.size() == x.shape.size() && spatial >= 1 &&
              spatial <= static_cast<std::int64_t>(x.shape.size());
  for (std::size_t i = 0; fits && i + static_cast<std::size_t>(spatial) < x.shape.size(); ++i)
    fits = x.shape[i] == dy.shape[i];
  if (!fits)
    fail("max_pool_grad: {} and {} for a pooling of {} over {} dimensions", to_text(dy),
         to_text(indices), to_text(x), spatial);
  return {x};
}

std::vector<Type> infer_avg_pool_grad(const InferCall& c) {
  Type x = shaped(c);
  Shape wanted = pooled_shape(c, x, false);
  if (c.inputs[0]->shape != wanted)
    fail("avg_pool_grad: gradient is {}, wanted {}", to_text(*c.inputs[0]),
         to_text(Type{x.dtype, false, wanted}));
  return {x};
}

std::int64_t planes(const Shape& shape, std::size_t spatial) {
  std::int64_t n = 1;
  for (std::size_t i = 0; i + spatial < shape.size(); ++i) n *= shape[i];
  return n;
}

/// Calls f(output index in its plane, positions) for every window; `positions(g)` calls g for each
/// element inside x.
template <class F>
void for_each_window(const std::array<Side, 3>& s, F f) {
  std::int64_t index = 0;
  for (std::int64_t a = 0; a < s[0].out; ++a)
    for (std::int64_t b = 0; b < s[1].out; ++b)
      for (std::int64_t d = 0; d < s[2].out; ++d, ++index) {
        std::int64_t starts[3] = {s[0].start(a), s[1].start(b), s[2].start(d)};
        f(index, starts, [&](auto visit_element) {
          for (std::int64_t i = 0; i < s[0].kernel; ++i) {
            std::int64_t x0 = starts[0] + i * s[0].dilation;
            if (x0 < 0 || x0 >= s[0].in) continue;
            for (std::int64_t j = 0; j < s[1].kernel; ++j) {
              std::int64_t x1 = starts[1] + j * s[1].dilation;
              if (x1 < 0 || x1 >= s[1].in) continue;
              for (std::int64_t k = 0; k < s[2].kernel; ++k) {
                std::int64_t x2 = starts[2] + k * s[2].dilation;
                if (x2 >= 0 && x2 < s[2].in) visit_element((x0 * s[1].in + x1) * s[2].in + x2);
              }
            }
          }
        });
      }
}

std::int64_t plane_size(const std::array<Side, 3>& s) { return s[0].in * s[1].in * s[2].in; }
std::int64_t pooled_size(const std::array<Side, 3>& s) { return s[0].out * s[1].out * s[2].out; }

void run_max_pool(KernelCall& c) {
  const Tensor& x = c.inputs[0];
  auto s = sides(c, x.type().shape, true);
  Tensor &y = c.out(0), &indices = c.out(1);
  std::int64_t count = planes(x.type().shape, c.attr<Ints>("kernel").size());
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t p = 0; p < count; ++p) {
      const T* from = x.as<T>() + p * plane_size(s);
      for_each_window(s, [&](std::int64_t index, const std::int64_t*, auto elements) {
        std::int64_t best = -1;
        elements([&](std::int64_t at) {
          // The first of equal elements; a NaN counts as the largest.
          if (best < 0 || load(from[at]) > load(from[best]) || load(from[at]) != load(from[at]))
            best = at;
        });
        std::int64_t to = p * pooled_size(s) + index;
        y.as<T>()[to] = best < 0 ? store<T>(-std::numeric_limits<double>::infinity()) : from[best];
        indices.as<std::int64_t>()[to] = best;
      });
    }
  });
}

void run_max_pool_grad(KernelCall& c) {
  const Tensor &dy = c.inputs[0], &indices = c.inputs[1];
  Tensor& dx = c.out();
  auto spatial = static_cast<std::size_t>(c.attr<std::int64_t>("spatial"));
  std::int64_t count = planes(dx.type().shape, spatial);
  std::int64_t in = count > 0 ? dx.type().elements() / count : 0,
               out = count > 0 ? dy.type().elements() / count : 0;
  visit(dy.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Accumulate<T>> sums(static_cast<std::size_t>(dx.type().elements()));
    for (std::int64_t i = 0; i < dy.type().elements(); ++i) {
      std::int64_t at = indices.as<std::int64_t>()[i];
      if (at < 0 || at >= in) fail("max_pool_grad: index {} in a plane of {}", at, in);
      auto& sum = sums[static_cast<std::size_t>(i / out * in + at)];
      sum = wrapping_add(sum, static_cast<Accumulate<T>>(load(dy.as<T>()[i])));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx.as<T>()[i] = store<T>(sums[i]);
  });
}

/// The divisor of the sum of a window.
double divisor(const KernelCall& c, const std::array<Side, 3>& s, const std::int64_t* starts,
               std::int64_t inside) {
  if (auto fixed = c.attr<std::int64_t>("divisor"); fixed != 0) return static_cast<double>(fixed);
  if (!c.attr<bool>("count_padding")) return static_cast<double>(inside);
  double all = 1;  // padding counts, but not the elements beyond it that rounding up added
  for (std::size_t i = 0; i < 3; ++i)
    all *=
        static_cast<double>(std::min(starts[i] + s[i].kernel, s[i].in + s[i].padding) - starts[i]);
  return all;
}

void run_avg_pool(KernelCall& c) {
  const Tensor& x = c.inputs[0];
  auto s = sides(c, x.type().shape, false);
  Tensor& y = c.out();
  std::int64_t count = planes(x.type().shape, c.attr<Ints>("kernel").size());
  visit(x.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for (std::int64_t p = 0; p < count; ++p) {
      const T* from = x.as<T>() + p * plane_size(s);
      for_each_window(s, [&](std::int64_t index, const std::int64_t* starts, auto elements) {
        Sum sum{};
        std::int64_t inside = 0;
        elements([&](std::int64_t at) {
          sum = wrapping_add(sum, static_cast<Sum>(load(from[at])));
          ++inside;
        });
        y.as<T>()[p * pooled_size(s) + index] =
            store<T>(sum / static_cast<Sum>(divisor(c, s, starts, inside)));
      });
    }
  });
}

void run_avg_pool_grad(KernelCall& c) {
  const Tensor& dy = c.inputs[0];
  Tensor& dx = c.out();
  auto s = sides(c, dx.type().shape, false);
  std::int64_t count = planes(dx.type().shape, c.attr<Ints>("kernel").size());
  visit(dy.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    std::vector<Sum> sums(static_cast<std::size_t>(dx.type().elements()));
    for (std::int64_t p = 0; p < count; ++p)
      for_each_window(s, [&](std::int64_t index, const std::int64_t* starts, auto elements) {
        std::int64_t inside = 0;
        elements([&](std::int64_t) { ++inside; });
        auto share = static_cast<Sum>(load(dy.as<T>()[p * pooled_size(s) + index])) /
                     static_cast<Sum>(divisor(c, s, starts, inside));
        elements([&](std::int64_t at) {
          auto& sum = sums[static_cast<std::size_t>(p * plane_size(s) + at)];
          sum = wrapping_add(sum, share);
        });
      });
    for (std::size_t i = 0; i < sums.size(); ++i) dx.as<T>()[i] = store<T>(sums[i]);
  });
}

/// One operation for each element of each window.
double pool_flops(const InferCall& c) {
  double windows = static_cast<double>(c.inputs[0]->elements());
  if (c.op.attribute_index("kernel") < 0) return windows;
  bool forward = c.op.attribute_index("shape") < 0;
  if (forward) windows = static_cast<double>(c.written[0].elements());
  for (std::int64_t k : c.attr<Ints>("kernel")) windows *= static_cast<double>(k);
  return windows;
}

constexpr AttributeSpec kernel{"kernel", AttributeKind::ints, "size of the window"};
constexpr AttributeSpec pool_stride{"stride", AttributeKind::ints,
                                    "steps of the window; its size when left out"};
constexpr AttributeSpec pool_padding{"padding", AttributeKind::ints,
                                     "on both sides, at most half the window; none when left out"};
constexpr AttributeSpec ceiling{"ceil", AttributeKind::flag,
                                "a last window may stand out at the end", false};
constexpr AttributeSpec count_padding{"count_padding", AttributeKind::flag,
                                      "padding counts in the divisor", true};
constexpr AttributeSpec fixed_divisor{"divisor", AttributeKind::integer, "divide by this instead",
                                      std::int64_t{0}};
constexpr AttributeSpec shape{"shape", AttributeKind::ints, "of x"};

}  // namespace

constinit const Op max_pool{
    .name = "max_pool",
    .doc =
        "the largest of each window over the last dimensions, and its index in the plane; the "
        "first of equals, a NaN wins",
    .operands = {{"x"}},
    .attributes = {kernel,
                   pool_stride,
                   pool_padding,
                   {"dilation", AttributeKind::ints,
                    "distance of the window's elements; all 1 when left out"},
                   ceiling},
    .infer = infer_max_pool,
    .kernel = run_max_pool,
    .flops = pool_flops};

constinit const Op max_pool_grad{
    .name = "max_pool_grad",
    .doc = "gradient of max_pool: each element goes where the largest came from",
    .operands = {{"dy"}, {"indices"}},
    .attributes = {{"spatial", AttributeKind::integer, "number of dimensions pooled"}, shape},
    .infer = infer_max_pool_grad,
    .kernel = run_max_pool_grad,
    .flops = pool_flops};

constinit const Op avg_pool{
    .name = "avg_pool",
    .doc = "the mean of each window over the last dimensions",
    .operands = {{"x"}},
    .attributes = {kernel, pool_stride, pool_padding, ceiling, count_padding, fixed_divisor},
    .infer = infer_avg_pool,
    .kernel = run_avg_pool,
    .flops = pool_flops};

constinit const Op avg_pool_grad{
    .name = "avg_pool_grad",
    .doc = "gradient of avg_pool",
    .operands = {{"dy"}},
    .attributes = {kernel, pool_stride, pool_padding, ceiling, count_padding, fixed_divisor, shape},
    .infer = infer_avg_pool_grad,
    .kernel = run_avg_pool_grad,
    .flops = pool_flops};

}  // namespace hocket::ops
