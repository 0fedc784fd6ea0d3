// What ranks say to each other. Every result is in flight until `wait`.

#include <array>
#include <cstring>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/element.h"
#include "hocket/ops/infer.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::ops {
namespace {

constexpr AttributeSpec group_attribute{"group", AttributeKind::string, "the ranks that take part",
                                        "world", true};
constexpr AttributeSpec reduce_attribute{"reduce", AttributeKind::string,
                                         "sum, avg, min, max or product", "sum", true};
constexpr AttributeSpec channel_attribute{
    "channel", AttributeKind::integer,
    "by which the calls of all ranks meet; given out in list order when left out", std::int64_t{-1},
    true};

void require_reduction(const InferCall& c) {
  static constexpr std::array<std::string_view, 5> known{"sum", "avg", "min", "max", "product"};
  const auto& reduce = c.attr<std::string>("reduce");
  if (std::find(known.begin(), known.end(), reduce) == known.end())
    fail("{}: unknown reduction {}{}", c.op.name, quoted(reduce), nearest_hint(reduce, known));
  for (const Type* t : c.inputs) {
    if (t->dtype == DType::boolean)
      fail("{}: operand is {}, wanted numbers; cast it", c.op.name, to_text(*t));
    if (reduce == "avg" && !is_float(t->dtype))
      fail("{}: the average of {}, wanted floats", c.op.name, to_text(*t));
  }
}

std::vector<Type> infer_all_reduce(const InferCall& c) {
  require_reduction(c);
  std::vector<Type> types;
  for (const Type* t : c.inputs) types.push_back(t->in_flight());
  return types;
}

std::vector<Type> infer_all_gather(const InferCall& c) {
  std::int64_t size = group_size(c);
  std::vector<Type> types;
  for (const Type* t : c.inputs) {
    Type gathered = t->in_flight();
    if (gathered.shape.empty()) gathered.shape.push_back(1);
    if (gathered.shape[0] > max_elements / size)
      fail("all_gather: {} times {} is too large", to_text(*t), count_of(size, "rank"));
    gathered.shape[0] *= size;
    types.push_back(gathered);
  }
  return types;
}

std::vector<Type> infer_reduce_scatter(const InferCall& c) {
  require_reduction(c);
  std::int64_t size = group_size(c);
  std::vector<Type> types;
  for (const Type* t : c.inputs) {
    if (t->shape.empty() || t->shape[0] % size != 0)
      fail("reduce_scatter: operand is {}, wanted a first dimension that {} divide", to_text(*t),
           count_of(size, "rank"));
    Type piece = t->in_flight();
    piece.shape[0] /= size;
    types.push_back(piece);
  }
  return types;
}

std::vector<Type> infer_barrier(const InferCall&) { return {}; }

std::vector<Type> infer_wait(const InferCall& c) {
  std::vector<Type> types;
  for (const Type* t : c.inputs) {
    if (!t->pending) fail("wait: operand is {}, wanted a value in flight", to_text(*t));
    types.push_back(t->ready());
  }
  return types;
}

template <class Sum>
Sum combine(std::string_view reduce, Sum a, Sum b) {
  if (reduce == "min") return lesser_of(a, b);
  if (reduce == "max") return greater_of(a, b);
  if (reduce == "product") return wrapping_mul(a, b);
  return wrapping_add(a, b);
}

/// Member after member in the order of their set, in the accumulate dtype, rounded once.
Tensor reduce_in_order(const ExchangeCall& c, std::size_t operand) {
  const auto& reduce = c.attr<std::string>("reduce");
  Tensor out(c.inputs[0][operand].type());
  visit(out.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulate<T>;
    for (std::int64_t i = 0; i < out.type().elements(); ++i) {
      auto total = static_cast<Sum>(load(c.inputs[0][operand].template as<T>()[i]));
      for (std::size_t m = 1; m < c.inputs.size(); ++m)
        total = combine(reduce, total,
                        static_cast<Sum>(load(c.inputs[m][operand].template as<T>()[i])));
      if (reduce == "avg") total = total / static_cast<Sum>(c.inputs.size());
      out.as<T>()[i] = store<T>(total);
    }
  });
  return out;
}

void exchange_all_reduce(ExchangeCall& c) {
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i) {
    Tensor reduced = reduce_in_order(c, i);
    for (auto& results : c.results) results[i] = reduced;
  }
}

void exchange_all_gather(ExchangeCall& c) {
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i) {
    Tensor gathered(c.types[0][i]);
    std::byte* to = gathered.bytes().data();
    for (const auto& operands : c.inputs) {
      auto from = operands[i].bytes();
      if (!from.empty()) std::memcpy(to, from.data(), from.size());
      to += from.size();
    }
    for (auto& results : c.results) results[i] = gathered;
  }
}

void exchange_reduce_scatter(ExchangeCall& c) {
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i) {
    Tensor reduced = reduce_in_order(c, i);
    const std::byte* from = std::as_const(reduced).bytes().data();
    for (std::size_t m = 0; m < c.results.size(); ++m) {
      Tensor piece(c.types[m][i]);
      auto to = piece.bytes();
      if (!to.empty()) std::memcpy(to.data(), from + m * to.size(), to.size());
      c.results[m][i] = piece;
    }
  }
}

}  // namespace

constinit const Op all_reduce{
    .name = "all_reduce",
    .doc = "starts reducing each operand over the group; every rank gets the result",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, reduce_attribute, channel_attribute},
    .infer = infer_all_reduce,
    .exchange = exchange_all_reduce,
    .starts = true};

constinit const Op all_gather{
    .name = "all_gather",
    .doc = "starts joining each operand of all ranks along the first dimension",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, channel_attribute},
    .infer = infer_all_gather,
    .exchange = exchange_all_gather,
    .starts = true};

constinit const Op reduce_scatter{
    .name = "reduce_scatter",
    .doc =
        "starts reducing each operand over the group; each rank gets its piece of the "
        "first dimension",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, reduce_attribute, channel_attribute},
    .infer = infer_reduce_scatter,
    .exchange = exchange_reduce_scatter,
    .starts = true};

constinit const Op barrier{.name = "barrier",
                           .doc = "no rank of the group goes on before all have come here",
                           .attributes = {group_attribute, channel_attribute},
                           .infer = infer_barrier,
                           .effect = true};

constinit const Op wait{.name = "wait",
                        .doc = "the values of one collective, once they have arrived",
                        .operands = {{"xs", Count::many, 1}},
                        .infer = infer_wait,
                        .waits = true};

}  // namespace hocket::ops
