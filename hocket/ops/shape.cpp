// Ops that move elements and compute nothing.

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/walk.h"

namespace hocket::ops {
namespace {

std::span<const std::int64_t> dims_of(const Type& t) { return {t.shape.data(), t.shape.size()}; }

Shape to_shape(const InferCall& c, const Ints& dims) {
  if (!count_elements(dims))
    fail("{}: shape {} is negative or too large", c.op.name, dims_text(dims));
  return Shape(std::span<const std::int64_t>(dims));
}

std::vector<Type> infer_reshape(const InferCall& c) {
  const Type& x = *c.inputs[0];
  Type y{x.dtype, false, to_shape(c, c.attr<Ints>("shape"))};
  if (x.elements() != y.elements())
    fail("reshape: {} has {} elements, {} has {}", to_text(x), x.elements(), to_text(y),
         y.elements());
  return {y};
}

std::optional<ViewOf> view_reshape(const InferCall&, const Layout& x) { return ViewOf{0, x}; }

std::vector<Type> infer_permute(const InferCall& c) {
  const Type& x = *c.inputs[0];
  const Ints& dims = c.attr<Ints>("dims");
  Ints sorted = dims;
  std::ranges::sort(sorted);
  bool all = sorted.size() == x.shape.size();
  for (std::size_t i = 0; all && i < sorted.size(); ++i)
    all = sorted[i] == static_cast<std::int64_t>(i);
  if (!all)
    fail("permute: dims {} of {}, wanted each of its dimensions once", dims_text(dims), to_text(x));
  Type y{x.dtype, false, {}};
  for (std::int64_t d : dims) y.shape.push_back(x.shape[static_cast<std::size_t>(d)]);
  return {y};
}

std::optional<ViewOf> view_permute(const InferCall& c, const Layout& x) {
  return permuted(x, dims_of(*c.inputs[0]), c.attr<Ints>("dims"));
}

std::vector<Type> infer_broadcast(const InferCall& c) {
  const Type& x = *c.inputs[0];
  Type y{x.dtype, false, to_shape(c, c.attr<Ints>("shape"))};
  bool fits = x.shape.size() <= y.shape.size();
  std::size_t lead = fits ? y.shape.size() - x.shape.size() : 0;
  for (std::size_t i = 0; fits && i < x.shape.size(); ++i)
    fits = x.shape[i] == 1 || x.shape[i] == y.shape[lead + i];
  if (!fits)
    fail(
        "broadcast: {} does not spread to {}; dimensions match from the "
        "right, where 1 fits any",
        to_text(x), to_text(y));
  return {y};
}

std::optional<ViewOf> view_broadcast(const InferCall& c, const Layout& x) {
  return spread_out(x, dims_of(*c.inputs[0]), c.attr<Ints>("shape"));
}

void require_one_per_dim(const InferCall& c, std::string_view attribute, const Ints& list) {
  if (list.size() != c.inputs[0]->shape.size())
    fail("{}: {} {} of {}, wanted one for each dimension", c.op.name, attribute, dims_text(list),
         to_text(*c.inputs[0]));
}

std::vector<Type> infer_slice(const InferCall& c) {
  const Type& x = *c.inputs[0];
  const Ints &starts = c.attr<Ints>("starts"), &stops = c.attr<Ints>("stops"),
             &steps = c.attr<Ints>("steps");
  require_one_per_dim(c, "starts", starts);
  require_one_per_dim(c, "stops", stops);
  if (!steps.empty()) require_one_per_dim(c, "steps", steps);
  Type y{x.dtype, false, {}};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::int64_t step = steps.empty() ? 1 : steps[i];
    if (step < 1)
      fail("slice: step {}, wanted at least 1; use flip to turn a dimension round", step);
    if (starts[i] < 0 || stops[i] < starts[i] || stops[i] > x.shape[i])
      fail("slice: {} to {} of dimension {} of {}", starts[i], stops[i], i, to_text(x));
    y.shape.push_back(stops[i] == starts[i] ? 0 : (stops[i] - starts[i] - 1) / step + 1);
  }
  return {y};
}

std::optional<ViewOf> view_slice(const InferCall& c, const Layout& x) {
  return sliced(x, dims_of(*c.inputs[0]), c.attr<Ints>("starts"), c.attr<Ints>("steps"),
                dims_of(c.written[0]));
}

std::vector<Type> infer_pad(const InferCall& c) {
  const Type &x = *c.inputs[0], &value = *c.inputs[1];
  const Ints &low = c.attr<Ints>("low"), &high = c.attr<Ints>("high");
  require_one_per_dim(c, "low", low);
  require_one_per_dim(c, "high", high);
  if (value.dtype != x.dtype || !value.shape.empty())
    fail("pad: value is {}, wanted {}[]", to_text(value), name(x.dtype));
  Type y{x.dtype, false, {}};
  for (std::size_t i = 0; i < low.size(); ++i) {
    bool sane = std::abs(low[i] / 2) < max_elements && std::abs(high[i] / 2) < max_elements;
    std::int64_t size = sane ? x.shape[i] + low[i] + high[i] : -1;
    if (size < 0) fail("pad: {} and {} around dimension {} of {}", low[i], high[i], i, to_text(x));
    y.shape.push_back(size);
  }
  return {y};
}

/// Fills the result with the value, then copies the part of x that remains; negative padding cuts.
void run_pad(KernelCall& c) {
  const ConstView& x = c.inputs[0];
  const View& out = c.out();
  const Ints& low = c.attr<Ints>("low");
  Walk<2> common;  // places in the result and in x
  std::int64_t from = 0, to = 0, from_stride = 1, to_stride = 1;
  for (std::size_t i = low.size(); i-- > 0;) {
    std::int64_t in = x.type.shape[i], wide = out.type.shape[i];
    std::int64_t cut = std::clamp<std::int64_t>(-low[i], 0, in),
                 shift = std::clamp<std::int64_t>(low[i], 0, wide);
    common.add_outer(std::max<std::int64_t>(0, std::min(in - cut, wide - shift)),
                     {to_stride, from_stride});
    from += cut * from_stride;
    to += shift * to_stride;
    from_stride *= in;
    to_stride *= wide;
  }
  visit_size(out.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(out.as<T>(), out.type.elements(), c.inputs[1].as<T>()[0]);
    common.for_each_run([&](auto at, std::int64_t size, auto strides) {
      T* target = out.as<T>() + to + at[0];
      const T* source = x.as<T>() + from + at[1];
      if (strides[0] == 1 && strides[1] == 1)
        std::copy_n(source, size, target);
      else
        for (std::int64_t i = 0; i < size; ++i) target[i * strides[0]] = source[i * strides[1]];
    });
  });
}

std::vector<Type> infer_concat(const InferCall& c) {
  auto dim = c.attr<std::int64_t>("dim");
  Type y = *c.inputs[0];
  require_dims(c, {dim}, y.shape.size());
  auto d = static_cast<std::size_t>(dim);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    Type next = *c.inputs[i];
    bool fits = next.shape.size() == y.shape.size() && next.dtype == y.dtype;
    std::int64_t more = fits ? next.shape[d] : 0;
    if (fits) next.shape[d] = y.shape[d];
    if (next != y)
      fail("concat: operands are {} and {}, wanted equal types but for dimension {}",
           to_text(*c.inputs[0]), to_text(*c.inputs[i]), dim);
    y.shape[d] += more;
    if (y.shape[d] > max_elements) fail("concat: the result is too large");
  }
  return {y};
}

void run_concat(KernelCall& c) {
  const View& out = c.out();
  auto d = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  const Shape& shape = out.type.shape;
  std::int64_t outer = 1, inner = bytes(out.type.dtype);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != d) (i < d ? outer : inner) *= shape[i];
  std::byte* to = out.data;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const ConstView& x : c.inputs) {
      std::int64_t run = x.type.shape[d] * inner;
      if (run > 0) to = std::copy_n(x.data + o * run, run, to);
    }
}

std::vector<Type> infer_flip(const InferCall& c) {
  require_dims(c, c.attr<Ints>("dims"), c.inputs[0]->shape.size());
  return {*c.inputs[0]};
}

std::optional<ViewOf> view_flip(const InferCall& c, const Layout& x) {
  return flipped(x, dims_of(*c.inputs[0]), c.attr<Ints>("dims"));
}

}  // namespace

constinit const Op reshape{.name = "reshape",
                           .doc = "the same elements in row-major order under another shape",
                           .operands = {{"x"}},
                           .attributes = {{"shape", AttributeKind::ints, "of the result"}},
                           .infer = infer_reshape,
                           .view = view_reshape,
                           .moves_data = true,
                           .is_view = true};

constinit const Op permute{
    .name = "permute",
    .doc =
        "dimensions in another order: dimension i of the result is "
        "dimension dims[i] of x",
    .operands = {{"x"}},
    .attributes = {{"dims", AttributeKind::ints, "each dimension of x once"}},
    .infer = infer_permute,
    .view = view_permute,
    .moves_data = true};

constinit const Op broadcast{
    .name = "broadcast",
    .doc = "x repeated along dimensions of size 1 and along new leading ones",
    .operands = {{"x"}},
    .attributes = {{"shape", AttributeKind::ints, "of the result"}},
    .infer = infer_broadcast,
    .view = view_broadcast,
    .moves_data = true};

constinit const Op slice{
    .name = "slice",
    .doc = "from start to stop along every dimension, in steps",
    .operands = {{"x"}},
    .attributes = {{"starts", AttributeKind::ints, "first index, for each dimension"},
                   {"stops", AttributeKind::ints, "behind the last index"},
                   {"steps", AttributeKind::ints, "distances; all 1 when left out"}},
    .infer = infer_slice,
    .view = view_slice,
    .moves_data = true};

constinit const Op pad{
    .name = "pad",
    .doc = "x with a value around it; a negative width cuts",
    .operands = {{"x"}, {"value"}},
    .attributes = {{"low", AttributeKind::ints, "widths before x, for each dimension"},
                   {"high", AttributeKind::ints, "widths behind x"}},
    .infer = infer_pad,
    .kernel = run_pad,
    .moves_data = true};

constinit const Op concat{
    .name = "concat",
    .doc = "the operands one behind the other along a dimension",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {{"dim", AttributeKind::integer, "the dimension that grows"}},
    .infer = infer_concat,
    .kernel = run_concat,
    .moves_data = true};

constinit const Op flip{.name = "flip",
                        .doc = "dimensions turned round",
                        .operands = {{"x"}},
                        .attributes = {{"dims", AttributeKind::ints, "which ones, ascending"}},
                        .infer = infer_flip,
                        .view = view_flip,
                        .moves_data = true};

}  // namespace hocket::ops
