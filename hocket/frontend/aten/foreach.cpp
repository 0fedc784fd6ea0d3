// Operators on lists of tensors, `_foreach_*`: one node per tensor.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

using Values = std::vector<Value>;

/// An operand for each tensor: from a list of tensors or numbers, or one tensor or number for all.
class Each {
 public:
  Each(OperatorCall& c, std::string_view name, std::size_t count) {
    const Argument* a = c.find(name);
    if (a == nullptr) c.refuse(fmt::format("argument '{}' is missing", name));
    if (c.is_tensor_list(*a)) {
      for (Value v : c.values(name)) items_.emplace_back(v);
    } else if (a->as<List>() != nullptr) {
      for (const Number& n : c.numbers(name)) items_.emplace_back(n);
    } else {
      Operand one = c.operand(name);
      // A vector has one number for each tensor; a rank-0 tensor is one for all.
      if (one.value && c.type(one.value).shape.size() == 1 && count > 0 &&
          c.row().target.ends_with(".Tensor") && name == "scalars") {
        for (std::size_t i = 0; i < count; ++i) {
          auto at = static_cast<std::int64_t>(i);
          items_.emplace_back(c.reshape(c.slice(one.value, 0, at, at + 1), {}));
        }
      } else {
        items_.assign(count, one);
      }
    }
    if (items_.size() != count)
      c.refuse(
          fmt::format("argument '{}' has {} items for {} tensors", name, items_.size(), count));
  }
  Each(const Number& n, std::size_t count) : items_(count, Operand(n)) {}
  const Operand& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::vector<Operand> items_;
};

template <class F>
Returned for_each(OperatorCall& c, std::string_view list, F&& f) {
  Values all = c.values(list), results;
  for (std::size_t i = 0; i < all.size(); ++i) results.push_back(f(i, all[i]));
  return results;
}

std::string_view second(OperatorCall& c) {
  std::string_view names = c.row().arguments;
  names.remove_prefix(names.find(' ') + 1);
  return names.substr(0, names.find(' '));
}

Returned each_unary(OperatorCall& c) {
  return for_each(c, "self", [&](std::size_t, Value x) { return c.pointwise(*c.row().op, {x}); });
}
Returned each_unary_float(OperatorCall& c) {
  return for_each(c, "self",
                  [&](std::size_t, Value x) { return c.float_pointwise(*c.row().op, {x}); });
}

Returned each_binary(OperatorCall& c) {
  Each other(c, second(c), c.tensors("self").size());
  return for_each(c, "self", [&](std::size_t i, Value x) {
    if (c.row().op == &ops::div) return divided(c, x, other[i]);
    return c.pointwise(*c.row().op, {x, other[i]});
  });
}

Returned each_with_alpha(OperatorCall& c) {
  Each other(c, second(c), c.tensors("self").size());
  Number alpha = c.number("alpha", Number(std::int64_t{1}));
  return for_each(c, "self", [&](std::size_t i, Value x) {
    return with_alpha(c, *c.row().op, x, other[i], alpha);
  });
}

Returned each_lower_bound(OperatorCall& c) {
  Each other(c, second(c), c.tensors("self").size());
  return for_each(c, "self",
                  [&](std::size_t i, Value x) { return bounded(c, x, other[i], std::nullopt); });
}
Returned each_upper_bound(OperatorCall& c) {
  Each other(c, second(c), c.tensors("self").size());
  return for_each(c, "self",
                  [&](std::size_t i, Value x) { return bounded(c, x, std::nullopt, other[i]); });
}

Returned each_pow(OperatorCall& c) {
  Each exponent(c, "exponent", c.tensors("self").size());
  return for_each(c, "self", [&](std::size_t i, Value x) {
    if (exponent[i].value) return c.pointwise(ops::pow, {x, exponent[i]});
    return power(c, x, exponent[i].number);
  });
}

/// A number raised to the power of each tensor; the base is the first argument.
Returned each_power_of(OperatorCall& c) {
  Number base = c.number("self");
  return for_each(c, "exponent", [&](std::size_t, Value x) {
    return c.pointwise(ops::pow, {base, x});
  });
}

Returned each_lerp(OperatorCall& c) {
  std::size_t count = c.tensors("self").size();
  Each end(c, "tensors1", count),
      weight(c, c.row().arguments.ends_with("weights") ? "weights" : "weight", count);
  return for_each(c, "self", [&](std::size_t i, Value x) {
    return interpolated(c, x, end[i].value, weight[i]);
  });
}

Returned each_product(OperatorCall& c) {
  std::size_t count = c.tensors("self").size();
  Each a(c, "tensor1", count), b(c, "tensor2", count);
  std::string_view name = c.row().arguments.ends_with("scalars") ? "scalars" : "value";
  Each value = c.has(name) ? Each(c, name, count) : Each(Number(std::int64_t{1}), count);
  return for_each(c, "self", [&](std::size_t i, Value x) {
    return with_product(c, *c.row().op, x, a[i].value, b[i].value, value[i]);
  });
}

Returned each_copy(OperatorCall& c) {
  Each source(c, "src", c.tensors("self").size());
  Values results;
  std::vector<TensorId> to = c.tensors("self");
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Type type = c.type(to[i]);
    results.push_back(c.broadcast(c.cast(source[i].value, type.dtype), type.shape));
  }
  return results;
}

Returned each_clone(OperatorCall& c) { return c.values("self"); }

Returned each_zero(OperatorCall& c) {
  Values results;
  for (TensorId t : c.tensors("self")) results.push_back(c.filled(c.type(t), std::int64_t{0}));
  return results;
}

Returned each_norm(OperatorCall& c) {
  return for_each(c, "self", [&](std::size_t, Value x) {
    DType dtype = c.dtype("dtype", c.type(x).dtype);
    Ints all;
    for (std::int64_t d = 0; d < std::ssize(c.type(x).shape); ++d) all.push_back(d);
    return norm(c, c.cast(x, dtype), c.real("ord", 2.0), all, false, dtype);
  });
}

Returned each_max(OperatorCall& c) {
  return for_each(c, "self", [&](std::size_t, Value x) {
    Ints all;
    for (std::int64_t d = 0; d < std::ssize(c.type(x).shape); ++d) all.push_back(d);
    return c.reduce(ops::max, x, all, false);
  });
}

constexpr Row foreach_table[] = {
    {"aten._foreach_add.List", "self other alpha", each_with_alpha, &ops::add},
    {"aten._foreach_add.Scalar", "self scalar", each_binary, &ops::add},
    {"aten._foreach_add.ScalarList", "self scalars", each_binary, &ops::add},
    {"aten._foreach_add.Tensor", "self other alpha", each_with_alpha, &ops::add},
    {"aten._foreach_sub.List", "self other alpha", each_with_alpha, &ops::sub},
    {"aten._foreach_sub.Scalar", "self scalar", each_binary, &ops::sub},
    {"aten._foreach_sub.ScalarList", "self scalars", each_binary, &ops::sub},
    {"aten._foreach_mul.List", "self other", each_binary, &ops::mul},
    {"aten._foreach_mul.Scalar", "self scalar", each_binary, &ops::mul},
    {"aten._foreach_mul.ScalarList", "self scalars", each_binary, &ops::mul},
    {"aten._foreach_mul.Tensor", "self other", each_binary, &ops::mul},
    {"aten._foreach_div.List", "self other", each_binary, &ops::div},
    {"aten._foreach_div.Scalar", "self scalar", each_binary, &ops::div},
    {"aten._foreach_div.ScalarList", "self scalars", each_binary, &ops::div},
    {"aten._foreach_div.Tensor", "self other", each_binary, &ops::div},
    {"aten._foreach_maximum.List", "self other", each_lower_bound},
    {"aten._foreach_maximum.Scalar", "self scalar", each_lower_bound},
    {"aten._foreach_maximum.ScalarList", "self scalars", each_lower_bound},
    {"aten._foreach_minimum.List", "self other", each_upper_bound},
    {"aten._foreach_minimum.Scalar", "self scalar", each_upper_bound},
    {"aten._foreach_minimum.ScalarList", "self scalars", each_upper_bound},
    {"aten._foreach_clamp_min.List", "self other", each_lower_bound},
    {"aten._foreach_clamp_min.Scalar", "self scalar", each_lower_bound},
    {"aten._foreach_clamp_min.ScalarList", "self scalars", each_lower_bound},
    {"aten._foreach_clamp_max.List", "self other", each_upper_bound},
    {"aten._foreach_clamp_max.Scalar", "self scalar", each_upper_bound},
    {"aten._foreach_clamp_max.ScalarList", "self scalars", each_upper_bound},
    {"aten._foreach_pow.List", "self exponent", each_pow},
    {"aten._foreach_pow.Scalar", "self exponent", each_pow},
    {"aten._foreach_pow.ScalarList", "self exponent", each_pow},
    {"aten._foreach_pow.ScalarAndTensor", "self exponent", each_power_of},
    {"aten._foreach_lerp.List", "self tensors1 weights", each_lerp},
    {"aten._foreach_lerp.Scalar", "self tensors1 weight", each_lerp},
    {"aten._foreach_lerp.ScalarList", "self tensors1 weight", each_lerp},
    {"aten._foreach_addcmul.Scalar", "self tensor1 tensor2 value", each_product, &ops::mul},
    {"aten._foreach_addcmul.ScalarList", "self tensor1 tensor2 scalars", each_product, &ops::mul},
    {"aten._foreach_addcmul.Tensor", "self tensor1 tensor2 scalars", each_product, &ops::mul},
    {"aten._foreach_addcdiv.Scalar", "self tensor1 tensor2 value", each_product, &ops::div},
    {"aten._foreach_addcdiv.ScalarList", "self tensor1 tensor2 scalars", each_product, &ops::div},
    {"aten._foreach_addcdiv.Tensor", "self tensor1 tensor2 scalars", each_product, &ops::div},
    {"aten._foreach_neg.default", "self", each_unary, &ops::neg},
    {"aten._foreach_abs.default", "self", each_unary, &ops::abs},
    {"aten._foreach_sign.default", "self", each_unary, &ops::sign},
    {"aten._foreach_sqrt.default", "self", each_unary_float, &ops::sqrt},
    {"aten._foreach_rsqrt.default", "self", each_unary_float, &ops::rsqrt},
    {"aten._foreach_exp.default", "self", each_unary_float, &ops::exp},
    {"aten._foreach_log.default", "self", each_unary_float, &ops::log},
    {"aten._foreach_log1p.default", "self", each_unary_float, &ops::log1p},
    {"aten._foreach_expm1.default", "self", each_unary_float, &ops::expm1},
    {"aten._foreach_tanh.default", "self", each_unary_float, &ops::tanh},
    {"aten._foreach_sigmoid.default", "self", each_unary_float, &ops::sigmoid},
    {"aten._foreach_cos.default", "self", each_unary_float, &ops::cos},
    {"aten._foreach_sin.default", "self", each_unary_float, &ops::sin},
    {"aten._foreach_tan.default", "self", each_unary_float, &ops::tan},
    {"aten._foreach_atan.default", "self", each_unary_float, &ops::atan},
    {"aten._foreach_erf.default", "self", each_unary_float, &ops::erf},
    {"aten._foreach_floor.default", "self", each_unary, &ops::floor},
    {"aten._foreach_ceil.default", "self", each_unary, &ops::ceil},
    {"aten._foreach_round.default", "self", each_unary, &ops::round},
    {"aten._foreach_trunc.default", "self", each_unary, &ops::trunc},
    {"aten._foreach_norm.Scalar", "self ord dtype", each_norm},
    {"aten._foreach_max.default", "self", each_max},
    {"aten._foreach_zero.default", "self", each_zero},
    {"aten._foreach_clone.default", "self", each_clone},
    {"aten._foreach_copy.default", "self src non_blocking", each_copy},
};

}  // namespace

std::span<const Row> foreach_rows() { return foreach_table; }

}  // namespace hocket::frontend
