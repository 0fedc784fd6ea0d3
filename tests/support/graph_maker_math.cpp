// Elementwise ops, movement of data, reductions, products, indexing.

#include <algorithm>

#include "hocket/ops/ops.h"
#include "support/graph_maker.h"

namespace hocket::testing {

void GraphMaker::elementwise() {
  enum class Wants : std::uint8_t { numbers, floats, integers, bits };
  static const std::vector<std::pair<const Op*, Wants>> list = {
      {&ops::add, Wants::numbers},         {&ops::sub, Wants::numbers},
      {&ops::mul, Wants::numbers},         {&ops::div, Wants::floats},
      {&ops::floor_div, Wants::numbers},   {&ops::remainder, Wants::numbers},
      {&ops::fma, Wants::floats},          {&ops::neg, Wants::numbers},
      {&ops::abs, Wants::numbers},         {&ops::sign, Wants::numbers},
      {&ops::maximum, Wants::numbers},     {&ops::minimum, Wants::numbers},
      {&ops::clamp, Wants::numbers},       {&ops::floor, Wants::floats},
      {&ops::ceil, Wants::floats},         {&ops::round, Wants::floats},
      {&ops::trunc, Wants::floats},        {&ops::sqrt, Wants::floats},
      {&ops::rsqrt, Wants::floats},        {&ops::exp, Wants::floats},
      {&ops::expm1, Wants::floats},        {&ops::log, Wants::floats},
      {&ops::log1p, Wants::floats},        {&ops::pow, Wants::floats},
      {&ops::sin, Wants::floats},          {&ops::cos, Wants::floats},
      {&ops::tan, Wants::floats},          {&ops::atan, Wants::floats},
      {&ops::tanh, Wants::floats},         {&ops::erf, Wants::floats},
      {&ops::bit_and, Wants::bits},        {&ops::bit_or, Wants::bits},
      {&ops::bit_xor, Wants::bits},        {&ops::bit_not, Wants::bits},
      {&ops::shift_left, Wants::integers}, {&ops::shift_right, Wants::integers},
      {&ops::relu, Wants::numbers},        {&ops::sigmoid, Wants::floats},
      {&ops::gelu, Wants::floats},         {&ops::gelu_tanh, Wants::floats},
      {&ops::silu, Wants::floats},         {&ops::hardswish, Wants::floats},
      {&ops::sigmoid_grad, Wants::floats}, {&ops::tanh_grad, Wants::floats},
      {&ops::gelu_grad, Wants::floats},    {&ops::gelu_tanh_grad, Wants::floats},
      {&ops::silu_grad, Wants::floats},    {&ops::hardswish_grad, Wants::floats},
  };
  auto [op, wants] = list[below(random_, list.size())];
  Value a = some([wants = wants](const Type& t) {
    if (wants == Wants::floats) return is_float(t.dtype);
    if (wants == Wants::integers) return is_integer(t.dtype);
    return wants == Wants::numbers ? t.dtype != DType::boolean : !is_float(t.dtype);
  });
  if (!a) return;
  std::vector<Value> operands{a};
  Value shaped = a;
  while (operands.size() < op->operands.size()) {
    Value next = chance(random_, 10) ? a : partner(shaped);
    if (!graph_.type(next).shape.empty()) shaped = next;
    operands.push_back(next);
  }
  keep((*op)(graph_, operands, {}));
}

void GraphMaker::compare() {
  static const std::vector<const Op*> list = {&ops::eq, &ops::ne, &ops::lt,
                                              &ops::le, &ops::gt, &ops::ge};
  Value a = any();
  keep((*list[below(random_, list.size())])(graph_, a, partner(a)));
}

void GraphMaker::select() {
  Value a = any(), b = partner(a);
  Shape shape = graph_.type(a).shape.empty() ? graph_.type(b).shape : graph_.type(a).shape;
  Value c = some([&](const Type& t) {
    return t.dtype == DType::boolean && (t.shape == shape || t.shape.empty());
  });
  if (c) keep(ops::select(graph_, c, a, b));
}

void GraphMaker::cast() {
  Value a = any();
  DType to = chance(random_, 30) ? graph_.type(a).dtype : random_type().dtype;
  keep(ops::cast(graph_, {a}, {{"dtype", to}}));
}

void GraphMaker::reshape() {
  Value a = any();
  const Type& t = graph_.type(a);
  Ints shape(t.shape.begin(), t.shape.end());
  if (chance(random_, 50))
    std::reverse(shape.begin(), shape.end());
  else if (chance(random_, 80))
    shape = {t.elements()};
  keep(ops::reshape(graph_, {a}, {{"shape", shape}}));
}

void GraphMaker::permute() {
  Value a = any();
  Ints dims;
  for (std::size_t i = 0; i < graph_.type(a).shape.size(); ++i)
    dims.push_back(static_cast<std::int64_t>(i));
  if (chance(random_, 80)) std::shuffle(dims.begin(), dims.end(), random_);
  keep(ops::permute(graph_, {a}, {{"dims", dims}}));
}

void GraphMaker::broadcast() {
  Value a = some([](const Type& t) { return t.elements() < 200; });
  if (!a) return;
  Ints shape;
  if (chance(random_, 50)) shape.push_back(static_cast<std::int64_t>(1 + below(random_, 3)));
  for (std::int64_t d : graph_.type(a).shape)
    shape.push_back(d == 1 && chance(random_, 70) ? 3 : d);
  keep(ops::broadcast(graph_, {a}, {{"shape", shape}}));
}

void GraphMaker::movement() {
  Value a = some([](const Type& t) { return !t.shape.empty() && t.elements() > 0; });
  if (!a) return;
  const Type t = graph_.type(a);
  Ints starts, stops, steps, low, high;
  for (std::int64_t d : t.shape) {
    starts.push_back(static_cast<std::int64_t>(below(random_, static_cast<std::size_t>(d))));
    stops.push_back(starts.back() + static_cast<std::int64_t>(below(
                                        random_, static_cast<std::size_t>(d - starts.back() + 1))));
    steps.push_back(dim_of(2));
    low.push_back(static_cast<std::int64_t>(below(random_, 3)) - 1);
    high.push_back(static_cast<std::int64_t>(below(random_, 3)));
  }
  auto dim = static_cast<std::int64_t>(below(random_, t.shape.size()));
  switch (below(random_, 5)) {
    case 0:
      return keep(
          ops::slice(graph_, {a}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}));
    case 1:
      return keep(ops::pad(graph_, {a, of({t.dtype, false, {}})}, {{"low", low}, {"high", high}}));
    case 2:
      return keep(ops::concat(graph_, {a, of(t), a}, {{"dim", dim}}));
    case 3:
      return keep(ops::flip(graph_, {a}, {{"dims", Ints{dim}}}));
    default:
      return keep(ops::stop_gradient(graph_, a));
  }
}

void GraphMaker::reduction() {
  static const std::vector<const Op*> list = {
      &ops::sum,    &ops::mean,   &ops::product, &ops::max,    &ops::min,    &ops::any,
      &ops::all_of, &ops::argmax, &ops::argmin,  &ops::cumsum, &ops::cumprod};
  const Op* op = list[below(random_, list.size())];
  bool logic = op == &ops::any || op == &ops::all_of;
  Value a = some([&](const Type& t) {
    if (logic) return t.dtype == DType::boolean;
    if (op == &ops::mean) return is_float(t.dtype) && t.elements() > 0;
    return t.dtype != DType::boolean && (op == &ops::sum || (t.elements() > 0 && !t.shape.empty()));
  });
  if (!a) return;
  auto rank = graph_.type(a).shape.size();
  if (op->attribute_index("dim") >= 0) {
    auto dim = static_cast<std::int64_t>(below(random_, rank));
    if (op->attribute_index("keep") < 0) return keep((*op)(graph_, {a}, {{"dim", dim}}));
    return keep((*op)(graph_, {a}, {{"dim", dim}, {"keep", chance(random_, 50)}}));
  }
  Ints dims;
  for (std::size_t i = 0; i < rank; ++i)
    if (chance(random_, 50)) dims.push_back(static_cast<std::int64_t>(i));
  keep((*op)(graph_, {a}, {{"dims", dims}, {"keep", chance(random_, 50)}}));
}

void GraphMaker::matmul() {
  Value a = some([](const Type& t) { return t.dtype != DType::boolean && t.shape.size() == 2; });
  if (!a) return;
  const Type& t = graph_.type(a);
  bool ta = chance(random_, 50);
  Value b = some([&](const Type& u) {
    return u.dtype == t.dtype && u.shape.size() == 2 && u.shape[0] == t.shape[ta ? 0 : 1];
  });
  if (b) return keep(ops::matmul(graph_, {a, b}, {{"transpose_a", ta}}));
  keep(ops::matmul(graph_, {a, a}, {{"transpose_b", true}}));
}

void GraphMaker::indexing() {
  Value a = some(
      [](const Type& t) { return !t.shape.empty() && t.elements() > 0 && t.elements() < 200; });
  if (!a) return;
  const Type t = graph_.type(a);
  auto d = below(random_, t.shape.size());
  auto dim = static_cast<std::int64_t>(d);
  Shape shape = t.shape;
  shape[d] = dim_of(4);
  constexpr std::string_view ways[] = {"replace", "sum", "product", "min", "max"};
  bool flags = t.dtype == DType::boolean;
  switch (below(random_, 8)) {
    case 0:
      return keep(ops::gather(graph_, {a, indices(shape, t.shape[d])}, {{"dim", dim}}));
    case 1:
      return keep(ops::scatter(
          graph_, {a, indices(shape, t.shape[d]), of({t.dtype, false, shape})},
          {{"dim", dim}, {"reduce", std::string(ways[flags ? 0 : below(random_, 5)])}}));
    case 2:
      return keep_all(
          make(ops::index, {a, indices({3}, t.shape[d])}, {{"dims", Ints{dim}}}, {1, 1}));
    case 3: {
      NodeId picked =
          make(ops::index, {a, indices({2, 1}, t.shape[d])}, {{"dims", Ints{dim}}}, {1, 1});
      Type values = graph_.type(graph_.result(picked));
      keep_all(picked);
      return keep_all(make(ops::index_put, {a, of(values), indices({2, 1}, t.shape[d])},
                           {{"dims", Ints{dim}}, {"accumulate", !flags && chance(random_, 60)}},
                           {1, 1, 1}));
    }
    case 4: {
      DType dtype = some_float();
      Value ids = indices({3}, 4);
      keep(ops::embedding(graph_, floats(dtype, {4, 2}), ids));
      return keep(
          ops::embedding_grad(graph_, {floats(dtype, {3, 2}), ids}, {{"rows", std::int64_t{4}}}));
    }
    case 5:
      return keep_all(make(ops::sort, {a}, {{"dim", dim}, {"descending", chance(random_, 50)}}));
    case 6:
      return keep_all(
          make(ops::topk, {a},
               {{"dim", dim}, {"k", dim_of(t.shape[d])}, {"smallest", chance(random_, 50)}}));
    default:
      return keep(iota(DType::i32, t.shape));
  }
}

}  // namespace hocket::testing
