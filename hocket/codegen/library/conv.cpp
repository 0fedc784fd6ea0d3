// Convolution and its gradients as oneDNN primitives.

#include <algorithm>

#include "hocket/codegen/library/primitive.h"
#include "hocket/ops/ops.h"

namespace hocket::library {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

enum class Wanted : std::uint8_t { wide, deep, weight };

/// `wide` is the side that the window slides over, `deep` the one with an element per position; a
/// transposed convolution is the gradient with respect to the wide side.
struct Problem {
  Wanted wanted = Wanted::deep;
  Dims wide, deep, weight;
  Dims stride, dilation, padding, padding_end;  // dilation as in oneDNN: 0 is dense
};

Dims dims_of(const Type& type) { return {type.shape.begin(), type.shape.end()}; }

Dims list_or(const KernelSpec& c, std::string_view name, std::size_t size, std::int64_t missing) {
  const Ints& list = c.attr<Ints>(name);
  return list.empty() ? Dims(size, missing) : Dims(list.begin(), list.end());
}

Problem problem_of(const KernelSpec& c) {
  Problem p;
  Dims first = dims_of(c.operands[0]), second = dims_of(c.operands[1]),
       result = dims_of(c.results[0]);
  if (&c.op == &ops::conv_grad_weight)
    p = {Wanted::weight, second, first, result};
  else if (&c.op == &ops::conv_grad_input || c.attr<bool>("transposed"))
    p = {Wanted::wide, result, first, second};
  else
    p = {Wanted::deep, first, result, second};
  std::size_t spatial = p.wide.size() - 2;
  p.stride = list_or(c, "stride", spatial, 1);
  p.dilation = list_or(c, "dilation", spatial, 1);
  p.padding = list_or(c, "padding", spatial, 0);
  for (std::size_t i = 0; i < spatial; ++i) {
    // How far the last window reaches beyond the end: less than `padding` where the stride skips
    // some of it, negative where it skips elements of the side itself.
    p.padding_end.push_back((p.deep[i + 2] - 1) * p.stride[i] +
                            p.dilation[i] * (p.weight[i + 2] - 1) + 1 - p.wide[i + 2] -
                            p.padding[i]);
    --p.dilation[i];
  }
  return p;
}

Desc row_major(const Dims& dims, dnnl::memory::data_type type) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, type, strides};
}

/// Row-major images run at half to two thirds of the speed (through a matrix of windows), and with
/// one channel per group at a twentieth; the blocked layout that oneDNN chooses is worth its
/// reorders. Channels last is as fast, but its reorders take twice as long. The two exceptions: a
/// window of size one is a matrix product already, and one channel does not fill a block.
bool better_row_major(const Problem& p, std::int64_t groups) {
  bool product = groups == 1;
  for (std::size_t i = 0; i < p.stride.size(); ++i)
    product = product && p.weight[i + 2] == 1 && p.stride[i] == 1 && p.padding[i] == 0;
  return product || (groups == 1 && p.wide[1] == 1);
}

}  // namespace

std::shared_ptr<const Kernel> prepare_conv(const Engine& engine, const KernelSpec& c) {
  using Data = dnnl::convolution_backward_data;
  using Weights = dnnl::convolution_backward_weights;
  Problem p = problem_of(c);
  auto groups = c.attr<std::int64_t>("groups");
  // Indices are 32 bits wide inside the kernels.
  for (const Type* t : {&c.operands[0], &c.operands[1], &c.results[0]})
    if (t->elements() > INT32_MAX) return nullptr;

  auto type = *data_type(c.results[0].dtype);
  Dims weight = p.weight;
  if (groups > 1) {
    weight[0] /= groups;
    weight.insert(weight.begin(), groups);
  }
  Desc plain_wide = row_major(p.wide, type), plain_deep = row_major(p.deep, type),
       plain_weight = row_major(weight, type);
  constexpr auto any = dnnl::memory::format_tag::any;
  bool row = better_row_major(p, groups);
  Desc wide = row ? plain_wide : Desc(p.wide, type, any),
       deep = row ? plain_deep : Desc(p.deep, type, any),
       weights = row ? plain_weight : Desc(weight, type, any);

  dnnl::primitive_attr attributes = with_scratchpad();
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, wide, weights, deep, p.stride, p.dilation,
       p.padding, p.padding_end},
      attributes, engine.cpu);
  auto finish = [&](const dnnl::primitive_desc& description, Argument first, Argument second,
                    Argument out) -> std::shared_ptr<const Kernel> {
    if (std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
    return make_kernel(engine, c, description, {first, second}, out);
  };
  switch (p.wanted) {
    case Wanted::deep:
      return finish(forward, {DNNL_ARG_SRC, plain_wide}, {DNNL_ARG_WEIGHTS, plain_weight},
                    {DNNL_ARG_DST, plain_deep});
    case Wanted::wide:
      return finish(Data::primitive_desc({direct, wide, weights, deep, p.stride, p.dilation,
                                          p.padding, p.padding_end},
                                         attributes, engine.cpu, forward),
                    {DNNL_ARG_DIFF_DST, plain_deep}, {DNNL_ARG_WEIGHTS, plain_weight},
                    {DNNL_ARG_DIFF_SRC, plain_wide});
    case Wanted::weight:
      return finish(Weights::primitive_desc({direct, wide, weights, deep, p.stride, p.dilation,
                                             p.padding, p.padding_end},
                                            attributes, engine.cpu, forward),
                    {DNNL_ARG_DIFF_DST, plain_deep}, {DNNL_ARG_SRC, plain_wide},
                    {DNNL_ARG_DIFF_WEIGHTS, plain_weight});
  }
  return nullptr;
}

}  // namespace hocket::library
