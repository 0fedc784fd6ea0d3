// Convolution and its gradients, over any number of spatial dimensions up to three.

#include <array>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/sums.h"

namespace hocket::ops {
namespace {

using Triple = std::array<std::int64_t, 3>;

/// One geometry for a convolution and its gradients. `wide` is the side that the window slides
/// over, `deep` the side with one element per position of the window; a transposed convolution
/// swaps operand and result. Missing spatial dimensions have size 1.
struct Geometry {
  std::int64_t batch = 0, groups = 1;
  std::int64_t wide_channels = 0, deep_channels = 0;  // in a group
  Triple wide{1, 1, 1}, deep{1, 1, 1}, kernel{1, 1, 1};
  Triple stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
};

template <class Call>
Triple triple(const Call& c, std::string_view name, std::int64_t missing) {
  const Ints& list = c.template attr<Ints>(name);
  Triple t{missing, missing, missing};
  for (std::size_t i = 0; i < list.size() && i < 3; ++i) t[i] = list[i];
  return t;
}

void require_list(const InferCall& c, std::string_view name, std::size_t spatial,
                  std::int64_t lowest) {
  const Ints& list = c.attr<Ints>(name);
  bool sane = list.empty() || list.size() == spatial;
  for (std::int64_t v : list) sane = sane && v >= lowest && v < (1 << 20);
  if (!sane)
    fail("{}: {} {}, wanted {} numbers of at least {}", c.op.name, name, dims_text(list), spatial,
         lowest);
}

/// The checks common to convolution and both gradients; returns the number of spatial dimensions.
std::size_t require_window(const InferCall& c, const Type& image, const Type& weight) {
  if (image.dtype != weight.dtype || !is_float(image.dtype))
    fail("{}: operands are {} and {}, wanted floats of one dtype", c.op.name, to_text(image),
         to_text(weight));
  std::size_t rank = image.shape.size();
  if (rank < 3 || rank > 5 || weight.shape.size() != rank)
    fail(
        "{}: operands are {} and {}, wanted [batch, channels, 1 to 3 dimensions] and a weight of "
        "that rank",
        c.op.name, to_text(image), to_text(weight));
  require_list(c, "stride", rank - 2, 1);
  require_list(c, "padding", rank - 2, 0);
  require_list(c, "dilation", rank - 2, 1);
  auto groups = c.attr<std::int64_t>("groups");
  if (groups < 1 || groups > (1 << 20)) fail("{}: {} groups", c.op.name, groups);
  // An empty tensor may have a dimension of any size; sizes computed from it must not overflow.
  for (const Type* t : {&image, &weight})
    for (std::int64_t size : t->shape)
      if (size > std::int64_t{1} << 40) fail("{}: {} is too large", c.op.name, to_text(*t));
  return rank - 2;
}

/// The shape of the other side of a convolution with this weight, [out, in / groups, window].
Shape forward_shape(const InferCall& c, const Shape& x, const Shape& w) {
  auto groups = c.attr<std::int64_t>("groups");
  if (x[1] != w[1] * groups || w[0] % groups != 0)
    fail("{}: {} channels, weight {} and {} groups do not fit", c.op.name, x[1],
         dims_text({w.data(), w.size()}), groups);
  Triple stride = triple(c, "stride", 1), padding = triple(c, "padding", 0),
         dilation = triple(c, "dilation", 1);
  Shape y{x[0], w[0]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    std::int64_t room = x[i + 2] + 2 * padding[i] - dilation[i] * (w[i + 2] - 1) - 1;
    if (w[i + 2] < 1 || room < 0)
      fail("{}: the window does not fit into dimension {}", c.op.name, i + 2);
    y.push_back(room / stride[i] + 1);
  }
  return y;
}

std::vector<Type> infer_conv(const InferCall& c) {
  const Type &x = *c.inputs[0], &w = *c.inputs[1];
  std::size_t spatial = require_window(c, x, w);
  if (!c.attr<bool>("transposed")) return {{x.dtype, false, forward_shape(c, x.shape, w.shape)}};
  require_list(c, "output_padding", spatial, 0);
  auto groups = c.attr<std::int64_t>("groups");
  if (x.shape[1] != w.shape[0] || w.shape[0] % groups != 0)
    fail("conv: {} channels, weight {} and {} groups do not fit", x.shape[1], to_text(w), groups);
  Triple stride = triple(c, "stride", 1), padding = triple(c, "padding", 0),
         dilation = triple(c, "dilation", 1);
  Triple extra = triple(c, "output_padding", 0);
  Shape y{x.shape[0], w.shape[1] * groups};
  for (std::size_t i = 0; i < spatial; ++i) {
    std::int64_t size = (x.shape[i + 2] - 1) * stride[i] - 2 * padding[i] +
                        dilation[i] * (w.shape[i + 2] - 1) + extra[i] + 1;
    if (size < 0 || x.shape[i + 2] < 1) fail("conv: dimension {} of the result is {}", i + 2, size);
    if (extra[i] >= std::max(stride[i], dilation[i]))
      fail("conv: output_padding {}, wanted less than stride or dilation", extra[i]);
    y.push_back(size);
  }
  return {{x.dtype, false, y}};
}

Shape shape_attribute(const InferCall& c) {
  const Ints& shape = c.attr<Ints>("shape");
  if (!count_elements(shape))
    fail("{}: shape {} is negative or too large", c.op.name, dims_text(shape));
  return Shape(std::span<const std::int64_t>(shape));
}

/// The gradients belong to the plain convolution x, w -> y; a transposed one is the same with x and
/// y swapped.
void require_gradient(const InferCall& c, const Type& x, const Type& w, const Type& y) {
  require_window(c, x, w);
  if (y.dtype != x.dtype)
    fail("{}: {} and {}, wanted one dtype", c.op.name, to_text(x), to_text(y));
  Shape wanted = forward_shape(c, x.shape, w.shape);
  if (y.shape != wanted)
    fail("{}: gradient is {}, wanted {}", c.op.name, to_text(y),
         to_text(Type{x.dtype, false, wanted}));
}

std::vector<Type> infer_grad_input(const InferCall& c) {
  Type x{c.inputs[0]->dtype, false, shape_attribute(c)};
  require_gradient(c, x, *c.inputs[1], *c.inputs[0]);
  return {x};
}

std::vector<Type> infer_grad_weight(const InferCall& c) {
  Type w{c.inputs[0]->dtype, false, shape_attribute(c)};
  require_gradient(c, *c.inputs[1], w, *c.inputs[0]);
  return {w};
}

Geometry geometry(const KernelCall& c, const Shape& wide, const Shape& deep, const Shape& weight) {
  Geometry g;
  g.batch = wide[0];
  g.groups = c.attr<std::int64_t>("groups");
  g.wide_channels = wide[1] / g.groups;
  g.deep_channels = deep[1] / g.groups;
  for (std::size_t i = 0; i + 2 < wide.size(); ++i) {
    g.wide[i] = wide[i + 2];
    g.deep[i] = deep[i + 2];
    g.kernel[i] = weight[i + 2];
  }
  g.stride = triple(c, "stride", 1);
  g.padding = triple(c, "padding", 0);
  g.dilation = triple(c, "dilation", 1);
  return g;
}

std::int64_t volume(const Triple& t) { return t[0] * t[1] * t[2]; }

/// Calls f(wide, deep, weight) with the flat index of each in its tensor, for every product of the
/// convolution: batch, group, deep channel, wide channel, window, then positions, all ascending.
/// Every sum runs in this order.
template <class F>
void for_each_product(const Geometry& g, F f) {
  std::int64_t wide_size = volume(g.wide), deep_size = volume(g.deep), window = volume(g.kernel);
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t group = 0; group < g.groups; ++group)
      for (std::int64_t d = 0; d < g.deep_channels; ++d)
        for (std::int64_t w = 0; w < g.wide_channels; ++w) {
          std::int64_t wide = ((n * g.groups + group) * g.wide_channels + w) * wide_size;
          std::int64_t deep = ((n * g.groups + group) * g.deep_channels + d) * deep_size;
          std::int64_t weight = ((group * g.deep_channels + d) * g.wide_channels + w) * window;
          for (std::int64_t k = 0; k < window; ++k) {
            Triple at{k / (g.kernel[1] * g.kernel[2]), k / g.kernel[2] % g.kernel[1],
                      k % g.kernel[2]};
            Triple shift;
            for (std::size_t i = 0; i < 3; ++i) shift[i] = at[i] * g.dilation[i] - g.padding[i];
            for (std::int64_t p0 = 0; p0 < g.deep[0]; ++p0) {
              std::int64_t i0 = p0 * g.stride[0] + shift[0];
              if (i0 < 0 || i0 >= g.wide[0]) continue;
              for (std::int64_t p1 = 0; p1 < g.deep[1]; ++p1) {
                std::int64_t i1 = p1 * g.stride[1] + shift[1];
                if (i1 < 0 || i1 >= g.wide[1]) continue;
                std::int64_t from = wide + (i0 * g.wide[1] + i1) * g.wide[2];
                std::int64_t to = deep + (p0 * g.deep[1] + p1) * g.deep[2];
                for (std::int64_t p2 = 0; p2 < g.deep[2]; ++p2) {
                  std::int64_t i2 = p2 * g.stride[2] + shift[2];
                  if (i2 >= 0 && i2 < g.wide[2]) f(from + i2, to + p2, weight + k);
                }
              }
            }
          }
        }
}

enum class Wanted : std::uint8_t { wide, deep, weight };

/// Two of the three tensors are given; sums of products go into the third.
void accumulate(KernelCall& c, const Geometry& g, Wanted wanted) {
  const View& out = c.out();
  visit(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      std::span<Accumulate<T>> sums = start_sums<T>(c, out);
      const T *a = c.inputs[0].as<T>(), *b = c.inputs[1].as<T>();
      auto add = [&](std::int64_t to, std::int64_t i, std::int64_t j) {
        sums[static_cast<std::size_t>(to)] += load(a[i]) * load(b[j]);
      };
      if (wanted == Wanted::deep)
        for_each_product(g, [&](auto wide, auto deep, auto weight) { add(deep, wide, weight); });
      else if (wanted == Wanted::wide)
        for_each_product(g, [&](auto wide, auto deep, auto weight) { add(wide, deep, weight); });
      else
        for_each_product(g, [&](auto wide, auto deep, auto weight) { add(weight, deep, wide); });
      store_sums<T>(sums, out);
    }
  });
}

void run_conv(KernelCall& c) {
  const Shape &x = c.inputs[0].type.shape, &w = c.inputs[1].type.shape, &y = c.out().type.shape;
  if (c.attr<bool>("transposed"))
    accumulate(c, geometry(c, y, x, w), Wanted::wide);
  else
    accumulate(c, geometry(c, x, y, w), Wanted::deep);
}

void run_grad_input(KernelCall& c) {
  const Shape &dy = c.inputs[0].type.shape, &w = c.inputs[1].type.shape, &x = c.out().type.shape;
  accumulate(c, geometry(c, x, dy, w), Wanted::wide);
}

void run_grad_weight(KernelCall& c) {
  const Shape &dy = c.inputs[0].type.shape, &x = c.inputs[1].type.shape, &w = c.out().type.shape;
  accumulate(c, geometry(c, x, dy, w), Wanted::weight);
}

/// A multiplication and an addition for each element of the weight and each position of the window,
/// padding counted as if it were there.
double conv_flops(const InferCall& c) {
  const Type *first = c.inputs[0], *second = c.inputs[1], *result = &c.written[0];
  bool by_weight = c.op.name == "conv_grad_weight", by_input = c.op.name == "conv_grad_input";
  const Shape& weight = by_weight ? result->shape : second->shape;
  // The side with one element per position of the window.
  bool given = by_weight || by_input || c.attr<bool>("transposed");
  const Shape& deep = given ? first->shape : result->shape;
  double positions = static_cast<double>(deep[0]), products = 1;
  for (std::size_t i = 2; i < deep.size(); ++i) positions *= static_cast<double>(deep[i]);
  for (std::int64_t d : weight) products *= static_cast<double>(d);
  return 2 * positions * products;
}

constexpr AttributeSpec stride{"stride", AttributeKind::ints,
                               "steps of the window; all 1 when left out"};
constexpr AttributeSpec padding{"padding", AttributeKind::ints,
                                "zeros on both sides; none when left out"};
constexpr AttributeSpec dilation{"dilation", AttributeKind::ints,
                                 "distance of the window's elements; all 1 when left out"};
constexpr AttributeSpec groups{"groups", AttributeKind::integer,
                               "channels fall into this many separate groups", std::int64_t{1}};

}  // namespace

constinit const Op conv{.name = "conv",
                        .doc =
                            "convolution of x [batch, in, ...] with w [out, in / groups, ...]; "
                            "transposed, w is [in, out / groups, ...]",
                        .operands = {{"x"}, {"w"}},
                        .attributes = {stride,
                                       padding,
                                       dilation,
                                       groups,
                                       {"transposed", AttributeKind::flag,
                                        "the gradient of a convolution by its input", false},
                                       {"output_padding", AttributeKind::ints,
                                        "more at the end of a transposed result"}},
                        .infer = infer_conv,
                        .kernel = run_conv,
                        .flops = conv_flops,
                        .scratch = sums_scratch};

constinit const Op conv_grad_input{
    .name = "conv_grad_input",
    .doc = "gradient by x of a convolution that is not transposed",
    .operands = {{"dy"}, {"w"}},
    .attributes = {stride, padding, dilation, groups, {"shape", AttributeKind::ints, "of x"}},
    .infer = infer_grad_input,
    .kernel = run_grad_input,
    .flops = conv_flops,
    .scratch = sums_scratch};

constinit const Op conv_grad_weight{
    .name = "conv_grad_weight",
    .doc = "gradient by w of a convolution that is not transposed",
    .operands = {{"dy"}, {"x"}},
    .attributes = {stride, padding, dilation, groups, {"shape", AttributeKind::ints, "of w"}},
    .infer = infer_grad_weight,
    .kernel = run_grad_weight,
    .flops = conv_flops,
    .scratch = sums_scratch};

}  // namespace hocket::ops
