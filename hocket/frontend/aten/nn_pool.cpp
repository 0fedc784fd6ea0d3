// Pools over windows, fixed and adaptive, and their gradients.

#include <algorithm>
#include <array>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

struct Pool {
  Ints kernel, stride, padding, dilation;
  bool ceil;
};

Pool pool(const OperatorCall& c, std::size_t spatial) {
  Ints kernel = per_dim(c, "kernel_size", spatial, 1), stride = c.ints("stride");
  return {kernel, stride.empty() ? kernel : per_dim(c, "stride", spatial, 1),
          per_dim(c, "padding", spatial, 0), per_dim(c, "dilation", spatial, 1),
          c.flag("ceil_mode", false)};
}

/// `aten.max_pool2d_...`: the digit before the d.
std::size_t pooled_dims(const OperatorCall& c) {
  std::string_view target = c.row().target;
  std::size_t at = target.find("pool");
  return static_cast<std::size_t>(target[at + 4] - '0');
}

Ints shape_of(const OperatorCall& c, Value v) {
  const Shape& shape = c.type(v).shape;
  return Ints(shape.begin(), shape.end());
}

// ---- the largest

std::vector<Value> max_pooled(OperatorCall& c, const Pool& p) {
  Value x = c.value("self");
  return c.build_all(ops::max_pool, std::array{x},
                     {{"kernel", p.kernel},
                      {"stride", p.stride},
                      {"padding", p.padding},
                      {"dilation", p.dilation},
                      {"ceil", p.ceil}});
}

Returned max_pool(OperatorCall& c) { return max_pooled(c, pool(c, pooled_dims(c)))[0]; }
Returned max_pool_with_indices(OperatorCall& c) { return max_pooled(c, pool(c, pooled_dims(c))); }

Returned max_pool_backward(OperatorCall& c) {
  return c.build(ops::max_pool_grad,
                 {c.value("grad_output"), c.cast(c.value("indices"), DType::i64)},
                 {{"spatial", static_cast<std::int64_t>(pooled_dims(c))},
                  {"shape", shape_of(c, c.value("self"))}});
}

// ---- the mean

Returned avg_pool(OperatorCall& c) {
  Pool p = pool(c, pooled_dims(c));
  return c.build(ops::avg_pool, {c.value("self")},
                 {{"kernel", p.kernel},
                  {"stride", p.stride},
                  {"padding", p.padding},
                  {"ceil", p.ceil},
                  {"count_padding", c.flag("count_include_pad", true)},
                  {"divisor", c.integer("divisor_override", 0)}});
}

Returned avg_pool_backward(OperatorCall& c) {
  Pool p = pool(c, pooled_dims(c));
  return c.build(ops::avg_pool_grad, {c.value("grad_output")},
                 {{"kernel", p.kernel},
                  {"stride", p.stride},
                  {"padding", p.padding},
                  {"ceil", p.ceil},
                  {"count_padding", c.flag("count_include_pad", true)},
                  {"divisor", c.integer("divisor_override", 0)},
                  {"shape", shape_of(c, c.value("self"))}});
}

// ---- adaptive: window i of a dimension runs from floor(i in / out) to ceil((i + 1) in / out)

struct Range {
  std::int64_t start, stop;
};

Range adaptive_range(std::int64_t i, std::int64_t in, std::int64_t out) {
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

/// Sizes of the windows where they are all equal, 1 in dimensions where they are not.
Ints even_windows(const Shape& in, const Ints& out) {
  Ints kernel;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t size = in[in.size() - out.size() + i];
    kernel.push_back(out[i] > 0 && size % out[i] == 0 ? std::max<std::int64_t>(1, size / out[i])
                                                      : 1);
  }
  return kernel;
}

bool all_one(const Ints& list) {
  return std::ranges::all_of(list, [](std::int64_t v) { return v == 1; });
}

/// The means of uneven windows along one dimension.
Value uneven_means(OperatorCall& c, Value x, std::int64_t dim, std::int64_t out) {
  std::int64_t in = c.type(x).shape[static_cast<std::size_t>(dim)];
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < out; ++i) {
    Range r = adaptive_range(i, in, out);
    parts.push_back(c.reduce(ops::mean, c.slice(x, dim, r.start, r.stop), {dim}, true));
  }
  return c.build_all(ops::concat, parts, {{"dim", dim}})[0];
}

Ints wanted_size(const OperatorCall& c, std::size_t rank) {
  Ints out = per_dim(c, "output_size", pooled_dims(c), 1);
  for (std::int64_t size : out)
    if (size < 1) c.refuse("output_size below 1");
  if (rank < out.size()) c.refuse("fewer dimensions than are pooled");
  return out;
}

/// The mean of a box is the mean of means along each dimension: reduces them one by one.
Returned adaptive_avg_pool(OperatorCall& c) {
  Value x = c.value("self");
  const Type type = c.type(x);
  std::size_t rank = type.shape.size();
  Ints out = wanted_size(c, rank);
  if (all_one(out)) return c.reduce(ops::mean, x, last_dims(rank, out.size()), true);
  Value y = wide(c, x).value;
  if (Ints kernel = even_windows(type.shape, out); !all_one(kernel))
    y = c.build(ops::avg_pool, {y}, {{"kernel", kernel}});
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t dim = rank - out.size() + i;
    if (c.type(y).shape[dim] != out[i])
      y = uneven_means(c, y, static_cast<std::int64_t>(dim), out[i]);
  }
  return c.cast(y, type.dtype);
}

/// Distributes each element of the gradient over its window; windows overlap.
Value uneven_shares(OperatorCall& c, Value dy, std::int64_t dim, std::int64_t in) {
  const Shape shape = c.type(dy).shape;
  auto d = static_cast<std::size_t>(dim);
  Expr total;
  for (std::int64_t i = 0; i < shape[d]; ++i) {
    Range r = adaptive_range(i, in, shape[d]);
    Expr share = Expr{&c, c.slice(dy, dim, i, i + 1)} / static_cast<double>(r.stop - r.start);
    Shape window = shape;
    window[d] = r.stop - r.start;
    Ints low(shape.size(), 0), high = low;
    low[d] = r.start;
    high[d] = in - r.stop;
    Expr part{&c, padded(c, c.broadcast(share.value, window), low, high, 0)};
    total = i == 0 ? part : total + part;
  }
  return total.value;
}

Returned adaptive_avg_pool_backward(OperatorCall& c) {
  Value dy = c.value("grad_output"), x = c.value("self");
  const Type type = c.type(x);
  std::size_t rank = type.shape.size(), spatial = pooled_dims(c);
  Ints out = shape_of(c, dy);
  if (out.size() != rank || rank < spatial || c.type(dy).elements() == 0)
    c.refuse("the gradient does not fit the tensor");
  out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(spatial));
  Ints kernel = even_windows(type.shape, out);
  Value d = wide(c, dy).value;
  for (std::size_t i = 0; i < spatial; ++i) {
    std::size_t dim = rank - spatial + i;
    if (kernel[i] * out[i] != type.shape[dim])
      d = uneven_shares(c, d, static_cast<std::int64_t>(dim), type.shape[dim]);
  }
  if (!all_one(kernel))
    d = c.build(ops::avg_pool_grad, {d}, {{"kernel", kernel}, {"shape", shape_of(c, x)}});
  return c.cast(d, type.dtype);
}

/// The maxima of uneven windows along one dimension, with their places.
void uneven_largest(OperatorCall& c, Value& values, Value& places, std::int64_t dim,
                    std::int64_t out) {
  std::int64_t in = c.type(values).shape[static_cast<std::size_t>(dim)];
  std::vector<Value> largest, where;
  for (std::int64_t i = 0; i < out; ++i) {
    Range r = adaptive_range(i, in, out);
    Value window = c.slice(values, dim, r.start, r.stop);
    Value best = c.build(ops::argmax, {window}, {{"dim", dim}, {"keep", true}});
    largest.push_back(c.build(ops::gather, {window, best}, {{"dim", dim}}));
    where.push_back(
        c.build(ops::gather, {c.slice(places, dim, r.start, r.stop), best}, {{"dim", dim}}));
  }
  values = c.build_all(ops::concat, largest, {{"dim", dim}})[0];
  places = c.build_all(ops::concat, where, {{"dim", dim}})[0];
}

/// From the last dimension to the first, so that among equal elements the first of the whole window
/// is chosen.
Returned adaptive_max_pool(OperatorCall& c) {
  Value values = c.value("self");
  const Shape shape = c.type(values).shape;
  std::size_t rank = shape.size();
  Ints out = wanted_size(c, rank), kernel = even_windows(shape, out);
  Shape plane;
  bool even = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    plane.push_back(shape[rank - out.size() + i]);
    even = even && kernel[i] * out[i] == plane[i];
  }
  if (even) return max_pooled(c, {kernel, kernel, {}, {}, false});
  Type counting{DType::i64, false, plane};
  Value count = c.iota({DType::i64, false, {counting.elements()}}, 0);
  Value places = c.broadcast(c.reshape(count, plane), shape);
  for (std::size_t i = out.size(); i-- > 0;)
    uneven_largest(c, values, places, static_cast<std::int64_t>(rank - out.size() + i), out[i]);
  return std::vector<Value>{values, places};
}

constexpr std::string_view max_arguments = "self kernel_size stride padding dilation ceil_mode";
constexpr std::string_view max_backward_arguments =
    "grad_output self kernel_size stride padding dilation ceil_mode indices";
constexpr std::string_view avg_arguments =
    "self kernel_size stride padding ceil_mode count_include_pad divisor_override";
constexpr std::string_view avg_backward_arguments =
    "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override";

constexpr Row pool_table[] = {
    {"aten.max_pool1d.default", max_arguments, max_pool},
    {"aten.max_pool2d.default", max_arguments, max_pool},
    {"aten.max_pool3d.default", max_arguments, max_pool},
    {"aten.max_pool1d_with_indices.default", max_arguments, max_pool_with_indices},
    {"aten.max_pool2d_with_indices.default", max_arguments, max_pool_with_indices},
    {"aten.max_pool3d_with_indices.default", max_arguments, max_pool_with_indices},
    {"aten.max_pool2d_with_indices_backward.default", max_backward_arguments, max_pool_backward},
    {"aten.max_pool3d_with_indices_backward.default", max_backward_arguments, max_pool_backward},
    {"aten.avg_pool1d.default", "self kernel_size stride padding ceil_mode count_include_pad",
     avg_pool},
    {"aten.avg_pool2d.default", avg_arguments, avg_pool},
    {"aten.avg_pool3d.default", avg_arguments, avg_pool},
    {"aten.avg_pool2d_backward.default", avg_backward_arguments, avg_pool_backward},
    {"aten.avg_pool3d_backward.default", avg_backward_arguments, avg_pool_backward},
    {"aten.adaptive_avg_pool1d.default", "self output_size", adaptive_avg_pool},
    {"aten.adaptive_avg_pool2d.default", "self output_size", adaptive_avg_pool},
    {"aten.adaptive_avg_pool3d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool3d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d_backward.default", "grad_output self", adaptive_avg_pool_backward},
    {"aten._adaptive_avg_pool3d_backward.default", "grad_output self", adaptive_avg_pool_backward},
    {"aten.adaptive_max_pool1d.default", "self output_size", adaptive_max_pool},
    {"aten.adaptive_max_pool2d.default", "self output_size", adaptive_max_pool},
    {"aten.adaptive_max_pool3d.default", "self output_size", adaptive_max_pool},
    {"aten.adaptive_max_pool2d_backward.default", "grad_output self indices", max_pool_backward},
    {"aten.adaptive_max_pool3d_backward.default", "grad_output self indices", max_pool_backward},
};

}  // namespace

std::span<const Row> pool_rows() { return pool_table; }

}  // namespace hocket::frontend::nn
