// Communication between ranks. Every result is in flight until `wait`.

#include <array>
#include <cstring>
#include <numeric>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
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
    "by which the calls of all ranks meet; given out in list order when left "
    "out",
    std::int64_t{-1}, true};

void require_reduction(const InferCall& c) {
  const auto& reduce = c.attr<std::string>("reduce");
  if (!find_reduce(reduce))
    fail("{}: unknown reduction {}{}", c.op.name, quoted(reduce),
         nearest_hint(reduce, reduce_names()));
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
      fail(
          "reduce_scatter: operand is {}, wanted a first dimension that {} "
          "divide",
          to_text(*t), count_of(size, "rank"));
    Type piece = t->in_flight();
    piece.shape[0] /= size;
    types.push_back(piece);
  }
  return types;
}

/// Error unless the attribute is the index of a member of the group.
void require_member(const InferCall& c, std::string_view attribute) {
  std::int64_t size = group_size(c), index = c.attr<std::int64_t>(attribute);
  if (index < 0 || index >= size)
    fail("{}: {}={} in a group of {}", c.op.name, attribute, index, count_of(size, "rank"));
}

std::vector<Type> infer_reduce(const InferCall& c) {
  require_member(c, "root");
  return infer_all_reduce(c);
}

std::vector<Type> infer_broadcast_from(const InferCall& c) {
  require_member(c, "root");
  std::vector<Type> types;
  for (const Type* t : c.inputs) types.push_back(t->in_flight());
  return types;
}

/// The sum of the splits, of which there is one for each rank of the group; without splits, all
/// rows, in equal shares.
std::int64_t rows_of(const InferCall& c, std::string_view attribute, std::int64_t rows) {
  std::int64_t size = group_size(c), total = 0;
  const Ints& splits = c.attr<Ints>(attribute);
  if (splits.empty()) {
    if (rows % size != 0)
      fail("all_to_all: {} rows, wanted a number that {} divide, or splits", rows,
           count_of(size, "rank"));
    return rows;
  }
  bool sane = static_cast<std::int64_t>(splits.size()) == size;
  for (std::int64_t n : splits) {
    sane = sane && n >= 0 && n <= max_elements / size;
    total += sane ? n : 0;
  }
  if (!sane)
    fail("all_to_all: {} {}, wanted one number for each of {}", attribute, dims_text(splits),
         count_of(size, "rank"));
  return total;
}

std::vector<Type> infer_all_to_all(const InferCall& c) {
  if (c.attr<Ints>("send").empty() != c.attr<Ints>("receive").empty())
    fail("all_to_all: send and receive are both written or both left out");
  std::vector<Type> types;
  for (const Type* t : c.inputs) {
    if (t->shape.empty()) fail("all_to_all: operand is {}, wanted rows", to_text(*t));
    if (rows_of(c, "send", t->shape[0]) != t->shape[0])
      fail("all_to_all: send {} of {}", dims_text(c.attr<Ints>("send")), to_text(*t));
    Type result = t->in_flight();
    result.shape[0] = rows_of(c, "receive", t->shape[0]);
    types.push_back(result);
  }
  return types;
}

std::vector<Type> infer_send(const InferCall& c) {
  require_member(c, "to");
  return {c.inputs[0]->in_flight()};
}

std::vector<Type> infer_recv(const InferCall& c) {
  require_member(c, "from");
  const Type& type = c.attr<Type>("type");
  if (type.pending) fail("recv: type {}, wanted what arrives", to_text(type));
  return {type.in_flight()};
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
  if (reduce == "product") return element_product(a, b);
  return element_sum(a, b);
}

/// Reduces in the order of the members of the set, in the accumulate dtype, and rounds once.
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

/// Ranks other than the root keep their own operands.
void exchange_reduce(ExchangeCall& c) {
  auto root = static_cast<std::size_t>(c.attr<std::int64_t>("root"));
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i)
    for (std::size_t m = 0; m < c.results.size(); ++m)
      c.results[m][i] = m == root ? reduce_in_order(c, i) : c.inputs[m][i];
}

void exchange_broadcast_from(ExchangeCall& c) {
  auto root = static_cast<std::size_t>(c.attr<std::int64_t>("root"));
  for (auto& results : c.results) results = c.inputs[root];
}

void exchange_all_to_all(ExchangeCall& c) {
  std::size_t size = c.inputs.size();
  auto splits = [&](std::size_t member, std::string_view name, const Type& t) {
    Ints list = attribute<Ints>(c.op, *c.all_attributes[member], name);
    return list.empty() ? Ints(size, t.shape[0] / static_cast<std::int64_t>(size)) : list;
  };
  for (std::size_t i = 0; i < c.inputs[0].size(); ++i)
    for (std::size_t me = 0; me < size; ++me) {
      Tensor out(c.types[me][i]);
      std::byte* to = out.bytes().data();
      Ints wanted = splits(me, "receive", c.inputs[me][i].type());
      for (std::size_t from = 0; from < size; ++from) {
        const Tensor& x = c.inputs[from][i];
        Ints sent = splits(from, "send", x.type());
        if (sent[me] != wanted[from])
          fail("all_to_all: member {} sends {} rows to member {}, which wants {}", from, sent[me],
               me, wanted[from]);
        std::int64_t row = x.type().shape[0] == 0 ? 0 : x.type().bytes() / x.type().shape[0];
        std::int64_t first = std::accumulate(
            sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(me), std::int64_t{0});
        if (sent[me] * row > 0)
          to = std::copy_n(x.bytes().data() + first * row, sent[me] * row, to);
      }
      c.results[me][i] = out;
    }
}

/// The sender gets its own value back once its bytes may be reused.
void exchange_pair(ExchangeCall& c) {
  std::size_t sender = c.inputs[0].empty() ? 1 : 0;
  for (auto& results : c.results) results = c.inputs[sender];
}

}  // namespace

constinit const Op all_reduce{
    .name = "all_reduce",
    .doc =
        "starts reducing each operand over the group; every rank gets the "
        "result",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, reduce_attribute, channel_attribute},
    .infer = infer_all_reduce,
    .exchange = exchange_all_reduce,
    .collective = &facts(CollectiveKind::all_reduce),
    .is_collective = true};

constinit const Op all_gather{
    .name = "all_gather",
    .doc = "starts joining each operand of all ranks along the first dimension",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, channel_attribute},
    .infer = infer_all_gather,
    .exchange = exchange_all_gather,
    .collective = &facts(CollectiveKind::all_gather),
    .is_collective = true};

constinit const Op reduce_scatter{
    .name = "reduce_scatter",
    .doc =
        "starts reducing each operand over the group; each rank gets its "
        "piece of the "
        "first dimension",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute, reduce_attribute, channel_attribute},
    .infer = infer_reduce_scatter,
    .exchange = exchange_reduce_scatter,
    .collective = &facts(CollectiveKind::reduce_scatter),
    .is_collective = true};

constinit const Op reduce{.name = "reduce",
                          .doc =
                              "starts reducing each operand over the group; the root gets the "
                              "result, others what they brought",
                          .operands = {{"xs", Count::many, 1}},
                          .attributes = {group_attribute,
                                         reduce_attribute,
                                         {"root", AttributeKind::integer,
                                          "index of the root in the group", std::int64_t{0}},
                                         channel_attribute},
                          .infer = infer_reduce,
                          .exchange = exchange_reduce,
                          .collective = &facts(CollectiveKind::reduce),
                          .is_collective = true};

constinit const Op broadcast_from{
    .name = "broadcast_from",
    .doc = "starts sending each operand of the root to all ranks of the group",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute,
                   {"root", AttributeKind::integer, "index of the root in the group",
                    std::int64_t{0}},
                   channel_attribute},
    .infer = infer_broadcast_from,
    .exchange = exchange_broadcast_from,
    .collective = &facts(CollectiveKind::broadcast),
    .is_collective = true};

constinit const Op all_to_all{
    .name = "all_to_all",
    .doc =
        "starts sending rows of each operand to every rank of the group, and gets theirs in the "
        "order of the ranks",
    .operands = {{"xs", Count::many, 1}},
    .attributes = {group_attribute,
                   {"send", AttributeKind::ints, "rows for each rank; equal shares when left out"},
                   {"receive", AttributeKind::ints,
                    "rows from each rank; equal shares when left out"},
                   channel_attribute},
    .infer = infer_all_to_all,
    .exchange = exchange_all_to_all,
    .collective = &facts(CollectiveKind::all_to_all),
    .is_collective = true};

constinit const Op send{
    .name = "send",
    .doc = "starts sending x to one rank; what arrives at its wait is x, once its bytes are free",
    .operands = {{"x"}},
    .attributes = {group_attribute,
                   {"to", AttributeKind::integer, "index in the group"},
                   channel_attribute},
    .infer = infer_send,
    .exchange = exchange_pair,
    .collective = &facts(CollectiveKind::send),
    .partner = &recv,
    .is_collective = true,
    .has_effect = true};

constinit const Op recv{.name = "recv",
                        .doc = "starts receiving what one rank sends on the same channel",
                        .attributes = {group_attribute,
                                       {"from", AttributeKind::integer, "index in the group"},
                                       {"type", AttributeKind::type, "of what arrives"},
                                       channel_attribute},
                        .infer = infer_recv,
                        .exchange = exchange_pair,
                        .collective = &facts(CollectiveKind::recv),
                        .partner = &send,
                        .is_collective = true,
                        .has_effect = true};

constinit const Op barrier{.name = "barrier",
                           .doc = "no rank of the group goes on before all have come here",
                           .attributes = {group_attribute, channel_attribute},
                           .infer = infer_barrier,
                           .collective = &facts(CollectiveKind::barrier),
                           .has_effect = true};

constinit const Op wait{.name = "wait",
                        .doc = "the values of one collective, once they have arrived",
                        .operands = {{"xs", Count::many, 1}},
                        .infer = infer_wait,
                        .is_wait = true,
                        .is_view = true};

}  // namespace hocket::ops
