// Pooling over the last one to three dimensions.

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/pool_planes.h"

namespace hocket::ops {
namespace {

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

/// The first of two NaNs wins; alone by a branch that is hardly ever taken.
template <int lanes, class Sum>
void add_to(Sum& sum, Sum value) {
  if constexpr (lanes == 1) {
    Sum quick = wrapping_add(sum, value);
    sum = is_nan(quick) ? element_sum(sum, value) : quick;
  } else {
    sum = element_sum(sum, value);
  }
}

/// The largest element of a window so far, and its index: one by itself.
template <class Value, int lanes>
struct Largest {
  std::int64_t best = -1;
  Value value = {};

  template <class T>
  void take(std::int64_t at, const T* element) {
    // The first of equal elements; a NaN counts as the largest.
    Value next = load(*element);
    if (best >= 0 && next <= value) return;
    if (best < 0 || next > value || next != next) best = at, value = next;
  }
  std::int64_t index(int) const { return best; }
};

/// Several side by side, by masks, without which the loop over them is not vectorised.
template <class Value, int lanes>
requires(lanes > 1) struct Largest<Value, lanes> {
  using Index = std::conditional_t<sizeof(Value) == 8, std::int64_t, std::int32_t>;
  bool none = true;
  Value value[lanes] = {};
  Index best[lanes] = {};

  template <class T>
  void take(std::int64_t at, const T* element) {
    for (int l = 0; l < lanes; ++l) {
      Value next = load(element[l]);
      auto mask =
          static_cast<Index>(-static_cast<Index>(none | (next > value[l]) | (next != next)));
      value[l] = chosen(mask, next, value[l]);
      best[l] = (static_cast<Index>(at) & mask) | (best[l] & ~mask);
    }
    none = false;
  }
  std::int64_t index(int l) const { return none ? -1 : best[l]; }

 private:
  static Value chosen(Index mask, Value a, Value otherwise) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::bit_cast<Value>((std::bit_cast<Index>(a) & mask) |
                                  (std::bit_cast<Index>(otherwise) & ~mask));
    else
      return mask != 0 ? a : otherwise;
  }
};

template <class T, int lanes>
void pool_largest(const std::array<Side, 3>& s, PlanePlaces x, const T* from, PlanePlaces y, T* to,
                  PlanePlaces indices, std::int64_t* index_to) {
  for_each_window(s, [&](std::int64_t out, const Window& window) {
    Largest<Compute<T>, lanes> largest;
    window.for_each([&](std::int64_t at) { largest.take(at, from + x(at)); });
    for (int l = 0; l < lanes; ++l) {
      std::int64_t best = largest.index(l);
      to[y(out) + l] =
          best < 0 ? store<T>(-std::numeric_limits<double>::infinity()) : from[x(best) + l];
      index_to[indices(out) + l] = best;
    }
  });
}

void run_max_pool(KernelCall& c) {
  const ConstView& in = c.inputs[0];
  auto s = sides(c, in.type.shape, true);
  std::size_t spatial = c.attr<Ints>("kernel").size();
  Planes x(in, spatial), y(c.out(0), spatial), indices(c.out(1), spatial);
  visit(in.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto run = [&](auto lanes, std::int64_t p) {
      pool_largest<T, lanes>(s, x.places(), in.as<T>() + x.first(p), y.places(),
                             c.out(0).as<T>() + y.first(p), indices.places(),
                             c.out(1).as<std::int64_t>() + indices.first(p));
    };
    if (plane_size(s) <= INT32_MAX) return for_each_planes({&x, &y, &indices}, run);
    for (std::int64_t p = 0; p < x.count(); ++p) run(std::integral_constant<int, 1>{}, p);
  });
}

/// Rounds the sums of a plane, or of several side by side, into a tensor.
template <class T, int lanes>
void store_plane(std::span<const Accumulate<T>> sums, PlanePlaces x, T* to) {
  for (std::size_t i = 0; i < sums.size() / lanes; ++i) {
    T* element = to + x(static_cast<std::int64_t>(i));
    for (int l = 0; l < lanes; ++l) element[l] = store<T>(sums[i * lanes + l]);
  }
}

/// For the sums of the planes that are worked on at a time.
std::int64_t pool_scratch(const InferCall& c) {
  const Type& x = c.written[0];
  std::size_t spatial = c.op.attribute_index("spatial") >= 0
                            ? static_cast<std::size_t>(c.attr<std::int64_t>("spatial"))
                            : c.attr<Ints>("kernel").size();
  std::int64_t plane = 1;
  for (std::size_t i = 0; i < spatial; ++i) plane *= x.shape[x.shape.size() - 1 - i];
  std::int64_t most = std::min(x.elements(), plane * most_lanes);
  return most * bytes(row(x.dtype).accumulate);
}

void run_max_pool_grad(KernelCall& c) {
  const ConstView &from = c.inputs[0], &which = c.inputs[1];
  const View& to = c.out();
  auto spatial = static_cast<std::size_t>(c.attr<std::int64_t>("spatial"));
  Planes dy(from, spatial), indices(which, spatial), dx(to, spatial);
  std::int64_t in = to.type.elements() / dx.count(), out = from.type.elements() / dx.count();
  visit(from.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    std::span<Sum> all = c.scratch<Sum>(std::min(to.type.elements(), in * most_lanes));
    for_each_planes({&dx, &dy, &indices}, [&](auto lanes, std::int64_t p) {
      std::span<Sum> sums = all.first(static_cast<std::size_t>(in * lanes));
      std::ranges::fill(sums, Sum{});
      const T* gradient = from.as<T>() + dy.first(p);
      const auto* index = which.as<std::int64_t>() + indices.first(p);
      PlanePlaces dy_at = dy.places(), index_at = indices.places();
      for (std::int64_t i = 0; i < out; ++i)
        for (int l = 0; l < lanes; ++l) {
          std::int64_t at = index[index_at(i) + l];
          if (at < 0 || at >= in) fail("max_pool_grad: index {} in a plane of {}", at, in);
          Sum& sum = sums[static_cast<std::size_t>(at * lanes + l)];
          add_to<1>(sum, static_cast<Sum>(load(gradient[dy_at(i) + l])));
        }
      store_plane<T, lanes>(sums, dx.places(), to.as<T>() + dx.first(p));
    });
  });
}

/// What the sum of a window is divided by.
struct Divisor {
  std::int64_t fixed;
  bool count_padding;

  explicit Divisor(const KernelCall& c)
      : fixed(c.attr<std::int64_t>("divisor")), count_padding(c.attr<bool>("count_padding")) {}

  double of(const Window& w) const {
    if (fixed != 0) return static_cast<double>(fixed);
    if (!count_padding) return static_cast<double>(w.inside());
    double all = 1;  // padding counts, but not the elements beyond it that rounding up added
    for (std::size_t i = 0; i < 3; ++i) {
      const Side& s = w.sides[i];
      all *= static_cast<double>(std::min(w.starts[i] + s.kernel, s.in + s.padding) - w.starts[i]);
    }
    return all;
  }
};

void run_avg_pool(KernelCall& c) {
  const ConstView& in = c.inputs[0];
  const View& out = c.out();
  auto s = sides(c, in.type.shape, false);
  std::size_t spatial = c.attr<Ints>("kernel").size();
  Planes x(in, spatial), y(out, spatial);
  Divisor divisor(c);
  visit(in.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for_each_planes({&x, &y}, [&](auto lanes, std::int64_t p) {
      const T* from = in.as<T>() + x.first(p);
      T* to = out.as<T>() + y.first(p);
      PlanePlaces x_at = x.places(), y_at = y.places();
      for_each_window(s, [&](std::int64_t position, const Window& window) {
        Sum sums[lanes] = {};
        window.for_each([&](std::int64_t at) {
          const T* element = from + x_at(at);
          for (int l = 0; l < lanes; ++l)
            add_to<lanes>(sums[l], static_cast<Sum>(load(element[l])));
        });
        auto by = static_cast<Sum>(divisor.of(window));
        for (int l = 0; l < lanes; ++l) to[y_at(position) + l] = store<T>(sums[l] / by);
      });
    });
  });
}

void run_avg_pool_grad(KernelCall& c) {
  const ConstView& from = c.inputs[0];
  const View& to = c.out();
  auto s = sides(c, to.type.shape, false);
  std::size_t spatial = c.attr<Ints>("kernel").size();
  Planes dy(from, spatial), dx(to, spatial);
  Divisor divisor(c);
  std::int64_t in = plane_size(s);
  visit(from.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    std::span<Sum> all = c.scratch<Sum>(std::min(to.type.elements(), in * most_lanes));
    for_each_planes({&dx, &dy}, [&](auto lanes, std::int64_t p) {
      std::span<Sum> sums = all.first(static_cast<std::size_t>(in * lanes));
      std::ranges::fill(sums, Sum{});
      const T* gradient = from.as<T>() + dy.first(p);
      PlanePlaces dy_at = dy.places();
      for_each_window(s, [&](std::int64_t position, const Window& window) {
        Sum shares[lanes];
        auto by = static_cast<Sum>(divisor.of(window));
        for (int l = 0; l < lanes; ++l)
          shares[l] = static_cast<Sum>(load(gradient[dy_at(position) + l])) / by;
        window.for_each([&](std::int64_t at) {
          Sum* sum = sums.data() + at * lanes;
          for (int l = 0; l < lanes; ++l) add_to<lanes>(sum[l], shares[l]);
        });
      });
      store_plane<T, lanes>(sums, dx.places(), to.as<T>() + dx.first(p));
    });
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
constexpr AttributeSpec pooled_from{"shape", AttributeKind::ints, "of x"};

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
    .flops = pool_flops,
    .reads_any_layout = true,
    .writes_any_layout = true};

constinit const Op max_pool_grad{
    .name = "max_pool_grad",
    .doc = "gradient of max_pool: each element goes where the largest came from",
    .operands = {{"dy"}, {"indices"}},
    .attributes = {{"spatial", AttributeKind::integer, "number of dimensions pooled"}, pooled_from},
    .infer = infer_max_pool_grad,
    .kernel = run_max_pool_grad,
    .flops = pool_flops,
    .scratch = pool_scratch,
    .reads_any_layout = true,
    .writes_any_layout = true};

constinit const Op avg_pool{
    .name = "avg_pool",
    .doc = "the mean of each window over the last dimensions",
    .operands = {{"x"}},
    .attributes = {kernel, pool_stride, pool_padding, ceiling, count_padding, fixed_divisor},
    .infer = infer_avg_pool,
    .kernel = run_avg_pool,
    .flops = pool_flops,
    .reads_any_layout = true,
    .writes_any_layout = true};

constinit const Op avg_pool_grad{.name = "avg_pool_grad",
                                 .doc = "gradient of avg_pool",
                                 .operands = {{"dy"}},
                                 .attributes = {kernel, pool_stride, pool_padding, ceiling,
                                                count_padding, fixed_divisor, pooled_from},
                                 .infer = infer_avg_pool_grad,
                                 .kernel = run_avg_pool_grad,
                                 .flops = pool_flops,
                                 .scratch = pool_scratch,
                                 .reads_any_layout = true,
                                 .writes_any_layout = true};

}  // namespace hocket::ops
