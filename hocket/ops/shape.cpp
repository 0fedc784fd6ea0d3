// Ops that move elements and compute nothing.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ops/element.h"
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
    fail("broadcast: {} does not spread to {}; dimensions match from the right, where 1 fits any",
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

}  // namespace

constinit const Op reshape{.name = "reshape",
                           .doc = "the same elements in row-major order under another shape",
                           .operands = {{"x"}},
                           .attributes = {{"shape", AttributeKind::ints, "of the result"}},
                           .infer = infer_reshape,
                           .kernel = run_reshape,
                           .moves_data = true};

constinit const Op permute{
    .name = "permute",
    .doc = "dimensions in another order: dimension i of the result is dimension dims[i] of x",
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

}  // namespace hocket::ops
