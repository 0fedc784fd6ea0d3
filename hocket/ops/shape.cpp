// Ops that move elements and compute nothing.

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/strided.h"

namespace hocket::ops {
namespace {

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

void run_reshape(KernelCall& c) { c.results[0] = Tensor(c.types[0], c.inputs[0]); }

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

void run_permute(KernelCall& c) {
  Shape from = strides_of(c.inputs[0].type().shape), strides;
  for (std::int64_t d : c.attr<Ints>("dims")) strides.push_back(from[static_cast<std::size_t>(d)]);
  copy_strided(c.out(), c.inputs[0], strides);
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

void run_broadcast(KernelCall& c) {
  const Shape& from = c.inputs[0].type().shape;
  Shape natural = strides_of(from);
  Shape strides(static_cast<std::uint32_t>(c.types[0].shape.size() - from.size()), 0);
  for (std::size_t i = 0; i < from.size(); ++i) strides.push_back(from[i] == 1 ? 0 : natural[i]);
  copy_strided(c.out(), c.inputs[0], strides);
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

void run_slice(KernelCall& c) {
  const Ints &starts = c.attr<Ints>("starts"), &steps = c.attr<Ints>("steps");
  Shape strides = strides_of(c.inputs[0].type().shape);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    first += starts[i] * strides[i];
    // A step beyond the end is never taken, so the step is limited to the size of the dimension.
    if (!steps.empty()) strides[i] *= std::min(steps[i], c.inputs[0].type().shape[i]);
  }
  copy_strided(c.out(), c.inputs[0], strides, first);
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
  const Tensor& x = c.inputs[0];
  const Ints& low = c.attr<Ints>("low");
  Tensor& out = c.out();
  Shape from_strides = strides_of(x.type().shape), to_strides = strides_of(out.type().shape),
        common;
  std::int64_t from = 0, to = 0;
  for (std::size_t i = 0; i < low.size(); ++i) {
    std::int64_t cut = std::clamp<std::int64_t>(-low[i], 0, x.type().shape[i]),
                 shift = std::clamp<std::int64_t>(low[i], 0, out.type().shape[i]);
    std::int64_t left = std::min(x.type().shape[i] - cut, out.type().shape[i] - shift);
    common.push_back(std::max<std::int64_t>(0, left));
    from += cut * from_strides[i];
    to += shift * to_strides[i];
  }
  visit_size(out.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(out.as<T>(), out.type().elements(), c.inputs[1].as<T>()[0]);
    std::vector<std::int64_t> sources;
    for_each_offset(common, from_strides,
                    [&](std::int64_t offset) { sources.push_back(from + offset); });
    auto source = sources.begin();
    for_each_offset(common, to_strides,
                    [&](std::int64_t offset) { out.as<T>()[to + offset] = x.as<T>()[*source++]; });
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
  Tensor& out = c.out();
  auto d = static_cast<std::size_t>(c.attr<std::int64_t>("dim"));
  const Shape& shape = out.type().shape;
  std::int64_t outer = 1, inner = bytes(out.type().dtype);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != d) (i < d ? outer : inner) *= shape[i];
  std::byte* to = out.bytes().data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Tensor& x : c.inputs) {
      std::int64_t run = x.type().shape[d] * inner;
      if (run > 0) to = std::copy_n(x.bytes().data() + o * run, run, to);
    }
}

std::vector<Type> infer_flip(const InferCall& c) {
  require_dims(c, c.attr<Ints>("dims"), c.inputs[0]->shape.size());
  return {*c.inputs[0]};
}

void run_flip(KernelCall& c) {
  const Shape& shape = c.inputs[0].type().shape;
  Shape strides = strides_of(shape);
  std::int64_t first = 0;
  for (std::int64_t dim : c.attr<Ints>("dims")) {
    auto d = static_cast<std::size_t>(dim);
    first += (shape[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  copy_strided(c.out(), c.inputs[0], strides, first);
}

}  // namespace

constinit const Op reshape{.name = "reshape",
                           .doc = "the same elements in row-major order under another shape",
                           .operands = {{"x"}},
                           .attributes = {{"shape", AttributeKind::ints, "of the result"}},
                           .infer = infer_reshape,
                           .kernel = run_reshape,
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
    .kernel = run_permute,
    .moves_data = true};

constinit const Op broadcast{
    .name = "broadcast",
    .doc = "x repeated along dimensions of size 1 and along new leading ones",
    .operands = {{"x"}},
    .attributes = {{"shape", AttributeKind::ints, "of the result"}},
    .infer = infer_broadcast,
    .kernel = run_broadcast,
    .moves_data = true};

constinit const Op slice{
    .name = "slice",
    .doc = "from start to stop along every dimension, in steps",
    .operands = {{"x"}},
    .attributes = {{"starts", AttributeKind::ints, "first index, for each dimension"},
                   {"stops", AttributeKind::ints, "behind the last index"},
                   {"steps", AttributeKind::ints, "distances; all 1 when left out"}},
    .infer = infer_slice,
    .kernel = run_slice,
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
                        .kernel = run_flip,
                        .moves_data = true};

}  // namespace hocket::ops
