// Elementwise ops, data movement, reductions, products, indexing.

#include <algorithm>
#include <map>

#include "hocket/ops/ops.h"
#include "support/graph_maker.h"
#include "support/op_signatures.h"

namespace hocket::testing {

namespace {

struct Takes {
  const Op* op;
  std::vector<DType> dtypes;
};

/// Every elementwise op with the operand dtypes it accepts, keyed by the dtype of its last operand.
const std::map<DType, std::vector<Takes>>& elementwise_ops() {
  static const auto table = [] {
    std::map<DType, std::vector<Takes>> made;
    for (const Op* op : ops::all())
      for (const std::vector<DType>& dtypes : signatures(*op))
        made[dtypes.back()].push_back({op, dtypes});
    return made;
  }();
  return table;
}

}  // namespace

void GraphMaker::elementwise() {
  Value a = any();
  Shape shape = graph_.type(a).shape;
  const std::vector<Takes>& list = elementwise_ops().at(graph_.type(a).dtype);
  const auto& [op, dtypes] = list[below(random_, list.size())];
  std::vector<Value> operands{a};
  while (operands.size() < dtypes.size()) {
    DType dtype = dtypes[dtypes.size() - 1 - operands.size()];
    Value next =
        dtype == graph_.type(a).dtype && chance(random_, 10) ? a : some([&](const Type& t) {
          return t.dtype == dtype && (t.shape == shape || t.shape.empty() || shape.empty());
        });
    if (!next) return;
    if (shape.empty()) shape = graph_.type(next).shape;
    operands.push_back(next);
  }
  std::ranges::reverse(operands);
  keep((*op)(graph_, operands, {}));
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
