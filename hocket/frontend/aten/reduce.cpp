// Reductions over dimensions, cumulative sums, sorting.

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

/// Sums of bools and integers are in i64 unless the call gives a dtype.
Value summand(OperatorCall& c, Value x) {
  DType own = c.type(x).dtype;
  return c.cast(x, c.dtype("dtype", is_float(own) ? own : DType::i64));
}

Returned sum(OperatorCall& c) {
  Value x = summand(c, c.value("self"));
  return c.reduce(ops::sum, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
}

Returned mean(OperatorCall& c) {
  Value x = c.value("self");
  x = c.cast(x, c.dtype("dtype", c.type(x).dtype));
  if (!is_float(c.type(x).dtype)) c.refuse("mean of integers");
  return c.reduce(ops::mean, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
}

Returned prod(OperatorCall& c) {
  Value x = summand(c, c.value("self"));
  return c.reduce(ops::product, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
}

Returned extreme(OperatorCall& c) {
  Value x = c.value("self");
  if (c.type(x).dtype == DType::boolean) {
    const Op& op = c.row().op == &ops::max ? ops::any : ops::all_of;
    return c.reduce(op, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
  }
  return c.reduce(*c.row().op, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
}

Value arg_along(OperatorCall& c, const Op& op, Value x, std::int64_t dim, bool keep) {
  if (c.type(x).shape.empty()) return c.filled({DType::i64, false, {}}, std::int64_t{0});
  if (c.type(x).dtype == DType::boolean) x = c.cast(x, DType::i8);
  return c.build(op, {x}, {{"dim", dim}, {"keep", keep}});
}

/// Values and their indices.
Returned extreme_dim(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t d = c.dim_or_first("dim", c.type(x).shape.size());
  bool keep = c.flag("keepdim", false);
  const Op& arg = c.row().op == &ops::max ? ops::argmax : ops::argmin;
  Value where = arg_along(c, arg, x, d, keep);
  if (c.type(x).dtype == DType::boolean)
    return std::vector<Value>{
        c.reduce(c.row().op == &ops::max ? ops::any : ops::all_of, x, {d}, keep), where};
  return std::vector<Value>{c.reduce(*c.row().op, x, {d}, keep), where};
}

Returned arg_extreme(OperatorCall& c) {
  Value x = c.value("self");
  bool keep = c.flag("keepdim", false);
  if (c.has("dim"))
    return arg_along(c, *c.row().op, x, c.dim_or_first("dim", c.type(x).shape.size()), keep);
  std::size_t rank = c.type(x).shape.size();
  Value flat = arg_along(c, *c.row().op, c.reshape(x, {c.type(x).elements()}), 0, false);
  return keep ? c.reshape(flat, Shape(static_cast<std::uint32_t>(rank), 1)) : flat;
}

Returned any_all(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = c.type(x).dtype == DType::u8 ? DType::u8 : DType::boolean;
  Value truth = c.type(x).dtype == DType::boolean ? x : c.pointwise(ops::ne, {x, 0});
  // Unlike for sums, an empty list means no dimension.
  bool none = c.row().target.ends_with(".dims") && c.has("dim") && c.ints("dim").empty();
  if (none) return c.cast(truth, dtype);
  Value y =
      c.reduce(*c.row().op, truth, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
  return c.cast(y, dtype);
}

Returned count_nonzero(OperatorCall& c) {
  Value x = c.value("self");
  Value truth = c.cast(c.pointwise(ops::ne, {x, 0}), DType::i64);
  return c.reduce(ops::sum, truth, c.dims("dim", c.type(x).shape.size()), false);
}

Returned nansum(OperatorCall& c) {
  Value x = summand(c, c.value("self"));
  if (is_float(c.type(x).dtype))
    x = c.build(ops::select, {c.pointwise(ops::ne, {x, x}), c.scalar(c.type(x).dtype, 0.0), x});
  return c.reduce(ops::sum, x, c.dims("dim", c.type(x).shape.size()), c.flag("keepdim", false));
}

Returned aminmax(OperatorCall& c) {
  Value x = c.value("self");
  Ints dims = c.dims("dim", c.type(x).shape.size());
  bool keep = c.flag("keepdim", false);
  return std::vector<Value>{c.reduce(ops::min, x, dims, keep), c.reduce(ops::max, x, dims, keep)};
}

Returned dist(OperatorCall& c) {
  Value x = c.pointwise(ops::sub, {c.value("self"), c.value("other")});
  return norm(c, x, c.real("p", 2.0), c.dims("dim", c.type(x).shape.size()), false,
              c.type(x).dtype);
}

Returned running(OperatorCall& c) {
  Value x = summand(c, c.value("self"));
  std::int64_t d = c.dim_or_first("dim", c.type(x).shape.size());
  return c.type(x).shape.empty() ? x : c.build(*c.row().op, {x}, {{"dim", d}});
}

struct Moments {
  Value variance, mean;
};

/// Computed in the accumulate dtype, each rounded once.
Moments moments(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = c.type(x).dtype;
  if (!is_float(dtype)) c.refuse("variance of integers");
  Ints dims = c.dims("dim", c.type(x).shape.size());
  bool keep = c.flag("keepdim", false);
  double correction = c.has("unbiased")     ? (c.flag("unbiased") ? 1 : 0)
                      : c.has("correction") ? c.real("correction")
                                            : 1;
  Value wide = c.cast(x, row(dtype).accumulate);
  const Shape shape = c.type(wide).shape;
  double count = 1;
  for (std::int64_t d : dims) count *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  Value middle = c.reduce(ops::mean, wide, dims, true);
  Value apart = c.pointwise(ops::sub, {wide, middle});
  Value squares = c.reduce(ops::sum, c.build(ops::mul, {apart, apart}), dims, keep);
  Value variance = c.pointwise(ops::div, {squares, std::max(0.0, count - correction)});
  Value mean = c.reshape(middle, c.type(variance).shape);
  return {variance, mean};
}

Value rooted(OperatorCall& c, Value v) { return c.build(ops::sqrt, {v}); }

Returned var(OperatorCall& c) { return c.cast(moments(c).variance, c.type("self").dtype); }
Returned deviation(OperatorCall& c) {
  return c.cast(rooted(c, moments(c).variance), c.type("self").dtype);
}
Returned var_mean(OperatorCall& c) {
  Moments m = moments(c);
  DType dtype = c.type("self").dtype;
  return std::vector<Value>{c.cast(m.variance, dtype), c.cast(m.mean, dtype)};
}
Returned deviation_mean(OperatorCall& c) {
  Moments m = moments(c);
  DType dtype = c.type("self").dtype;
  return std::vector<Value>{c.cast(rooted(c, m.variance), dtype), c.cast(m.mean, dtype)};
}

Returned vector_norm(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = c.dtype("dtype", c.type(x).dtype);
  std::string_view order = c.row().arguments.find("ord") != std::string_view::npos ? "ord" : "p";
  return norm(c, c.cast(x, dtype), c.real(order, 2.0), c.dims("dim", c.type(x).shape.size()),
              c.flag("keepdim", false), dtype);
}

Returned logsumexp(OperatorCall& c) {
  Value x = c.value("self");
  DType dtype = is_float(c.type(x).dtype) ? c.type(x).dtype : DType::f32;
  Value wide = c.cast(x, row(dtype).accumulate);
  Ints dims = c.dims("dim", c.type(x).shape.size());
  Value top = c.reduce(ops::max, wide, dims, true);
  // An infinite maximum is not subtracted, since that would give NaN.
  Value finite =
      c.pointwise(ops::lt, {c.build(ops::abs, {top}), std::numeric_limits<double>::infinity()});
  top = c.build(ops::select, {finite, top, c.scalar(c.type(top).dtype, 0.0)});
  Value total = c.reduce(ops::sum, c.build(ops::exp, {c.pointwise(ops::sub, {wide, top})}), dims,
                         c.flag("keepdim", false));
  Value y = c.build(ops::log, {total});
  return c.cast(c.build(ops::add, {y, c.reshape(top, c.type(y).shape)}), dtype);
}

Returned sort(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t d = c.dim_or_first("dim", c.type(x).shape.size(), -1);
  if (c.type(x).shape.empty())
    return std::vector<Value>{x, c.filled({DType::i64, false, {}}, std::int64_t{0})};
  return c.build_all(ops::sort, std::vector<Value>{x},
                     {{"dim", d}, {"descending", c.flag("descending", false)}});
}

Returned argsort(OperatorCall& c) { return std::get<std::vector<Value>>(sort(c))[1]; }

Returned topk(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), -1);
  return c.build_all(ops::topk, std::vector<Value>{x},
                     {{"dim", d}, {"k", c.integer("k")}, {"smallest", !c.flag("largest", true)}});
}

/// Differences of adjacent elements, n times.
Returned diff(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t d = c.dim("dim", c.type(x).shape.size(), -1);
  std::vector<Value> all;
  if (c.has("prepend")) all.push_back(c.value("prepend"));
  all.push_back(x);
  if (c.has("append")) all.push_back(c.value("append"));
  if (all.size() > 1) x = ops::concat(c.at(), all, {{"dim", d}});
  for (std::int64_t n = c.integer("n", 1); n > 0; --n) {
    std::int64_t size = c.type(x).shape[static_cast<std::size_t>(d)];
    std::int64_t left = std::max<std::int64_t>(0, size - 1);
    Value later = c.slice(x, d, std::min<std::int64_t>(1, size), size),
          earlier = c.slice(x, d, 0, left);
    x = c.pointwise(c.type(x).dtype == DType::boolean ? ops::bit_xor : ops::sub, {later, earlier});
  }
  return x;
}

constexpr Row reduce_table[] = {
    {"aten.sum.default", "self dtype", sum},
    {"aten.sum.dim_IntList", "self dim keepdim dtype", sum},
    {"aten.mean.default", "self dtype", mean},
    {"aten.mean.dim", "self dim keepdim dtype", mean},
    {"aten.prod.default", "self dtype", prod},
    {"aten.prod.dim_int", "self dim keepdim dtype", prod},
    {"aten.amax.default", "self dim keepdim", extreme, &ops::max},
    {"aten.amin.default", "self dim keepdim", extreme, &ops::min},
    {"aten.max.default", "self", extreme, &ops::max},
    {"aten.min.default", "self", extreme, &ops::min},
    {"aten.max.dim", "self dim keepdim", extreme_dim, &ops::max},
    {"aten.min.dim", "self dim keepdim", extreme_dim, &ops::min},
    {"aten.argmax.default", "self dim keepdim", arg_extreme, &ops::argmax},
    {"aten.argmin.default", "self dim keepdim", arg_extreme, &ops::argmin},
    {"aten.any.default", "self", any_all, &ops::any},
    {"aten.any.dim", "self dim keepdim", any_all, &ops::any},
    {"aten.any.dims", "self dim keepdim", any_all, &ops::any},
    {"aten.all.default", "self", any_all, &ops::all_of},
    {"aten.all.dim", "self dim keepdim", any_all, &ops::all_of},
    {"aten.all.dims", "self dim keepdim", any_all, &ops::all_of},
    {"aten.count_nonzero.default", "self dim", count_nonzero},
    {"aten.count_nonzero.dim_IntList", "self dim", count_nonzero},
    {"aten.nansum.default", "self dim keepdim dtype", nansum},
    {"aten.aminmax.default", "self dim keepdim", aminmax},
    {"aten.dist.default", "self other p", dist},
    {"aten.cumsum.default", "self dim dtype", running, &ops::cumsum},
    {"aten.cumprod.default", "self dim dtype", running, &ops::cumprod},
    {"aten.var.default", "self unbiased", var},
    {"aten.var.dim", "self dim unbiased keepdim", var},
    {"aten.var.correction", "self dim correction keepdim", var},
    {"aten.std.default", "self unbiased", deviation},
    {"aten.std.dim", "self dim unbiased keepdim", deviation},
    {"aten.std.correction", "self dim correction keepdim", deviation},
    {"aten.var_mean.default", "self unbiased", var_mean},
    {"aten.var_mean.dim", "self dim unbiased keepdim", var_mean},
    {"aten.var_mean.correction", "self dim correction keepdim", var_mean},
    {"aten.std_mean.correction", "self dim correction keepdim", deviation_mean},
    {"aten.linalg_vector_norm.default", "self ord dim keepdim dtype", vector_norm},
    {"aten.norm.Scalar", "self p", vector_norm},
    {"aten.norm.ScalarOpt_dim", "self p dim keepdim", vector_norm},
    {"aten.norm.ScalarOpt_dtype", "self p dtype", vector_norm},
    {"aten.norm.ScalarOpt_dim_dtype", "self p dim keepdim dtype", vector_norm},
    {"aten.logsumexp.default", "self dim keepdim", logsumexp},
    {"aten.sort.default", "self dim descending", sort},
    {"aten.sort.stable", "self stable dim descending", sort},
    {"aten.argsort.default", "self dim descending", argsort},
    {"aten.argsort.stable", "self stable dim descending", argsort},
    {"aten.topk.default", "self k dim largest sorted", topk},
    {"aten.diff.default", "self n dim prepend append", diff},
};

}  // namespace

std::span<const Row> reduce_rows() { return reduce_table; }

}  // namespace hocket::frontend
