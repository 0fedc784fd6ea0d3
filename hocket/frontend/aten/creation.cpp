// Operators that make tensors (constants, ranges, copies into other dtypes), checks and markers.

#include <algorithm>
#include <cmath>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/operator_call.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

Shape sizes(OperatorCall& c) {
  Ints list = c.ints("size");
  if (!count_elements(list)) c.refuse(fmt::format("size {}", dims_text(list)));
  return Shape(std::span<const std::int64_t>(list));
}

DType default_dtype(const Number& n) {
  return std::holds_alternative<bool>(n)           ? DType::boolean
         : std::holds_alternative<std::int64_t>(n) ? DType::i64
                                                   : DType::f32;
}

Number zero() { return std::int64_t{0}; }
Number one() { return std::int64_t{1}; }

Returned full(OperatorCall& c) {
  Number n = c.number("fill_value");
  return c.filled({c.dtype("dtype", default_dtype(n)), false, sizes(c)}, n);
}
Returned zeros(OperatorCall& c) {
  return c.filled({c.dtype("dtype", DType::f32), false, sizes(c)}, zero());
}
Returned ones(OperatorCall& c) {
  return c.filled({c.dtype("dtype", DType::f32), false, sizes(c)}, one());
}
Returned scalar_tensor(OperatorCall& c) {
  return c.filled({c.dtype("dtype", DType::f32), false, {}}, c.number("s"));
}

Type like(OperatorCall& c) {
  const Type& type = c.type("self");
  return {c.dtype("dtype", type.dtype), false, type.shape};
}
Returned full_like(OperatorCall& c) { return c.filled(like(c), c.number("fill_value")); }
Returned zeros_like(OperatorCall& c) { return c.filled(like(c), zero()); }
Returned ones_like(OperatorCall& c) { return c.filled(like(c), one()); }

Type new_type(OperatorCall& c) { return {c.dtype("dtype", c.type("self").dtype), false, sizes(c)}; }
Returned new_full(OperatorCall& c) { return c.filled(new_type(c), c.number("fill_value")); }
Returned new_zeros(OperatorCall& c) { return c.filled(new_type(c), zero()); }
Returned new_ones(OperatorCall& c) { return c.filled(new_type(c), one()); }

SourceValue unwritten(OperatorCall& c, const Type& type) {
  return {c.translation().storages.undefined(type), {}};
}
Returned empty(OperatorCall& c) {
  return unwritten(c, {c.dtype("dtype", DType::f32), false, sizes(c)});
}
Returned empty_like(OperatorCall& c) { return unwritten(c, like(c)); }
Returned new_empty(OperatorCall& c) { return unwritten(c, new_type(c)); }

/// start + step i, for all i that stay before the end.
Returned arange(OperatorCall& c) {
  Number start = c.number("start", zero()), end = c.number("end"), step = c.number("step", one());
  bool whole = !std::holds_alternative<double>(start) && !std::holds_alternative<double>(end) &&
               !std::holds_alternative<double>(step);
  DType dtype = c.dtype("dtype", whole ? DType::i64 : DType::f32);
  double by = as_double(step);
  if (by == 0) c.refuse("step is 0");
  double count = std::ceil((as_double(end) - as_double(start)) / by);
  if (!(count >= 0)) c.refuse("the end lies before the start");
  if (count > 0x1p40) c.refuse("is too long");
  // Computed in the widest dtype of its kind, so that the numbers equal those of the source.
  DType wide = is_float(dtype) ? DType::f64 : DType::i64;
  Value index = c.iota({wide, false, {static_cast<std::int64_t>(count)}}, 0);
  if (by != 1) index = c.build(ops::mul, {index, c.scalar(wide, step)});
  if (as_double(start) != 0) index = c.build(ops::add, {index, c.scalar(wide, start)});
  return c.cast(index, dtype);
}

/// The values of linspace in f64; the caller rounds.
Value line(OperatorCall& c) {
  double start = c.real("start"), end = c.real("end");
  std::int64_t steps = c.integer("steps");
  if (steps < 0) c.refuse("wants a number of steps");
  Type type{DType::f64, false, {steps}};
  if (steps <= 1) return c.filled(type, start);
  double by = (end - start) / static_cast<double>(steps - 1);
  // From both ends towards the middle, as in the source, so that both ends are exact.
  Value i = c.iota(type, 0);
  Value up = c.pointwise(ops::add, {c.pointwise(ops::mul, {i, by}), start});
  Value back = c.pointwise(ops::sub, {static_cast<double>(steps - 1), i});
  Value down = c.pointwise(ops::sub, {end, c.pointwise(ops::mul, {back, by})});
  std::int64_t half = steps / 2;
  Value first = c.pointwise(ops::lt, {i, static_cast<double>(half)});
  return c.build(ops::select, {first, up, down});
}

DType float_dtype(OperatorCall& c) {
  DType dtype = c.dtype("dtype", DType::f32);
  if (!is_float(dtype)) c.refuse("wants floats");
  return dtype;
}
Returned linspace(OperatorCall& c) { return c.cast(line(c), float_dtype(c)); }
Returned logspace(OperatorCall& c) {
  return c.cast(c.pointwise(ops::pow, {c.real("base", 10.0), line(c)}), float_dtype(c));
}

/// Rows and columns of a triangle, as two rows of a constant; the table row says which side.
Returned triangle_indices(OperatorCall& c) {
  std::int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset", 0);
  constexpr std::int64_t most = 1 << 12;
  if (rows < 0 || columns < 0 || rows > most || columns > most) c.refuse("is too large");
  if (c.dtype("dtype", DType::i64) != DType::i64) c.refuse("wants indices of i64");
  std::vector<std::int64_t> all;
  auto add = [&](bool which) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < columns; ++k)
        if (c.row().op == &ops::le ? k - i <= offset : k - i >= offset)
          all.push_back(which ? i : k);
  };
  add(true);
  add(false);
  Tensor tensor({DType::i64, false, {2, std::ssize(all) / 2}});
  std::ranges::copy(all, tensor.as<std::int64_t>());
  return c.constant(tensor);
}

Returned eye(OperatorCall& c) {
  std::int64_t n = c.integer("n"), m = c.integer("m", n);
  Type plane{DType::i64, false, {n, m}};
  if (n < 0 || m < 0) c.refuse("has negative sizes");
  Value same = c.build(ops::eq, {c.iota(plane, 0), c.iota(plane, 1)});
  return c.cast(same, c.dtype("dtype", DType::f32));
}

/// Always a copy, even if the dtype is the same.
Returned to_copy(OperatorCall& c) {
  Value x = c.value("self");
  return c.cast(x, c.dtype("dtype", c.type(x).dtype));
}

/// The tensor itself if nothing changes and no copy is requested.
Returned to(OperatorCall& c) {
  TensorId x = c.tensor("self");
  DType dtype = c.dtype("dtype", c.type(x).dtype);
  if (dtype == c.type(x).dtype && !c.flag("copy", false)) return c.alias(x);
  return c.cast(c.read(x), dtype);
}

Returned to_other(OperatorCall& c) {
  TensorId x = c.tensor("self");
  DType dtype = c.type("other").dtype;
  if (dtype == c.type(x).dtype && !c.flag("copy", false)) return c.alias(x);
  return c.cast(c.read(x), dtype);
}

/// Uses only the type of the destination, whose contents may be undefined.
Returned copy(OperatorCall& c) {
  const Type type = c.type("self");
  return c.broadcast(c.cast(c.value("src"), type.dtype), type.shape);
}
Returned fill(OperatorCall& c) {
  const Type type = c.type("self");
  Operand o = c.operand("value");
  if (!o.value) return c.filled(type, o.number);
  return c.broadcast(c.cast(o.value, type.dtype), type.shape);
}
Returned zero_fill(OperatorCall& c) { return c.filled(c.type("self"), zero()); }

/// Checked at import; adds no node.
Returned assert_metadata(OperatorCall& c) {
  const Type& type = c.type("a");
  if (c.has("size")) {
    Ints want = c.ints("size");
    if (Shape(std::span<const std::int64_t>(want)) != type.shape)
      c.refuse(fmt::format("asserts {}, the tensor is {}", dims_text(want), to_text(type)));
  }
  if (DType want = c.dtype("dtype", type.dtype); want != type.dtype)
    c.refuse(fmt::format("asserts {}, the tensor is {}", name(want), to_text(type)));
  return SourceValue{};
}

/// A marker without a value: all later nodes belong to the next stage.
Returned pipe_split(OperatorCall& c) {
  ++c.translation().stage;
  return SourceValue{};
}

Returned getitem(OperatorCall& c) {
  const Argument* object = c.find("obj");
  const Ref* ref = object == nullptr ? nullptr : object->as<Ref>();
  if (ref == nullptr) c.refuse("takes an item of something that is no result");
  const SourceValue* from = &c.translation().values[ref->node];
  if (ref->result >= 0) from = &from->list.at(static_cast<std::size_t>(ref->result));
  std::int64_t i = c.integer("index");
  if (i < 0) i += std::ssize(from->list);
  if (i < 0 || i >= std::ssize(from->list))
    c.refuse(fmt::format("item {} of {} results", i, from->list.size()));
  return from->list[static_cast<std::size_t>(i)];
}

constexpr std::string_view needs_generator =
    "needs random numbers, and the state of the generator is not in the file";
constexpr std::string_view dynamic = "its result has a shape that depends on values";
constexpr std::string_view to_host = "takes a value out of the graph";

constexpr Row creation_table[] = {
    {"operator.getitem", "obj index", getitem},
    {"aten.full.default", "size fill_value dtype", full},
    {"aten.zeros.default", "size dtype", zeros},
    {"aten.ones.default", "size dtype", ones},
    {"aten.scalar_tensor.default", "s dtype", scalar_tensor},
    {"aten.full_like.default", "self fill_value dtype", full_like},
    {"aten.zeros_like.default", "self dtype", zeros_like},
    {"aten.ones_like.default", "self dtype", ones_like},
    {"aten.new_full.default", "self size fill_value dtype", new_full},
    {"aten.new_zeros.default", "self size dtype", new_zeros},
    {"aten.new_ones.default", "self size dtype", new_ones},
    {"aten.empty.memory_format", "size dtype", empty},
    {"aten.empty_strided.default", "size stride dtype", empty},
    {"aten.empty_permuted.default", "size physical_layout dtype", empty},
    {"aten.empty_like.default", "self dtype", empty_like},
    {"aten.new_empty.default", "self size dtype", new_empty},
    {"aten.new_empty_strided.default", "self size stride dtype", new_empty},
    {"aten.arange.default", "end dtype", arange},
    {"aten.arange.start", "start end dtype", arange},
    {"aten.arange.start_step", "start end step dtype", arange},
    {"aten.linspace.default", "start end steps dtype", linspace},
    {"aten.logspace.default", "start end steps base dtype", logspace},
    {"aten.tril_indices.default", "row col offset dtype", triangle_indices, &ops::le},
    {"aten.triu_indices.default", "row col offset dtype", triangle_indices, &ops::ge},
    {"aten.eye.default", "n dtype", eye},
    {"aten.eye.m", "n m dtype", eye},
    {"aten._to_copy.default", "self dtype", to_copy},
    {"aten.to.dtype", "self dtype non_blocking copy", to},
    {"aten.to.dtype_layout", "self dtype layout device pin_memory non_blocking copy", to},
    {"aten.to.device", "self device dtype non_blocking copy", to},
    {"aten.to.other", "self other non_blocking copy", to_other},
    {"aten.type_as.default", "self other", to_other},
    {"aten.copy.default", "self src non_blocking", copy},
    {"aten.fill.Scalar", "self value", fill},
    {"aten.fill.Tensor", "self value", fill},
    {"aten.zero.default", "self", zero_fill},
    {"aten._assert_tensor_metadata.default", "a size stride dtype", assert_metadata},
    {"pippy._pipe_split.default", "", pipe_split},
    // refused: the state of the generator is not in the file
    {"aten.rand.default", "", nullptr, nullptr, needs_generator},
    {"aten.rand_like.default", "", nullptr, nullptr, needs_generator},
    {"aten.randn.default", "", nullptr, nullptr, needs_generator},
    {"aten.randn_like.default", "", nullptr, nullptr, needs_generator},
    {"aten.randint.default", "", nullptr, nullptr, needs_generator},
    {"aten.randint.low", "", nullptr, nullptr, needs_generator},
    {"aten.randint_like.default", "", nullptr, nullptr, needs_generator},
    {"aten.randperm.default", "", nullptr, nullptr, needs_generator},
    {"aten.bernoulli.default", "", nullptr, nullptr, needs_generator},
    {"aten.bernoulli.p", "", nullptr, nullptr, needs_generator},
    {"aten.bernoulli_.float", "", nullptr, nullptr, needs_generator},
    {"aten.multinomial.default", "", nullptr, nullptr, needs_generator},
    {"aten.uniform.default", "", nullptr, nullptr, needs_generator},
    {"aten.uniform_.default", "", nullptr, nullptr, needs_generator},
    {"aten.normal.default", "", nullptr, nullptr, needs_generator},
    {"aten.normal_.default", "", nullptr, nullptr, needs_generator},
    {"aten.normal_functional.default", "", nullptr, nullptr, needs_generator},
    {"aten.exponential.default", "", nullptr, nullptr, needs_generator},
    {"aten.exponential_.default", "", nullptr, nullptr, needs_generator},
    {"aten.nonzero.default", "", nullptr, nullptr, dynamic},
    {"aten.masked_select.default", "", nullptr, nullptr, dynamic},
    {"aten.unique_consecutive.default", "", nullptr, nullptr, dynamic},
    {"aten._unique2.default", "", nullptr, nullptr, dynamic},
    {"aten.repeat_interleave.Tensor", "", nullptr, nullptr, dynamic},
    {"aten._local_scalar_dense.default", "", nullptr, nullptr, to_host},
    {"aten.item.default", "", nullptr, nullptr, to_host},
    {"aten.sym_size.int", "", nullptr, nullptr,
     "shapes must be numbers; export with static shapes"},
};

}  // namespace

std::span<const Row> creation_rows() { return creation_table; }

}  // namespace hocket::frontend
