// A scatter by a mask.

#include "hocket/frontend/aten/arithmetic.h"
#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

using nn::Expr;

/// Takes the next element of the source wherever the mask holds.
Returned masked_scatter(OperatorCall& c) {
  Value x = c.value("self"), mask = c.value("mask"), source = c.value("source");
  Shape shape = c.common_shape({x, mask});
  x = c.broadcast(x, shape);
  mask = c.broadcast(mask, shape);
  std::int64_t count = c.type(source).elements(), all = c.type(x).elements();
  if (count == 0 || all == 0) return x;
  Value ones = c.cast(c.reshape(mask, {all}), DType::i64);
  Expr at = Expr{&c, c.build(ops::cumsum, {ones}, {{"dim", 0}})} - 1;
  at = apply(ops::clamp, at, 0,
             Number(count - 1));  // where the mask does not hold, any index is valid
  Value next =
      c.build_lists(ops::index, {{c.reshape(source, {count})}, {at.value}}, {{"dims", Ints{0}}})[0];
  return c.build(ops::select, {mask, c.cast(c.reshape(next, shape), c.type(x).dtype), x});
}

constexpr Row masked_scatter_table[] = {
    {"aten.masked_scatter.default", "self mask source", masked_scatter},
};

}  // namespace

std::span<const Row> masked_scatter_rows() { return masked_scatter_table; }

}  // namespace hocket::frontend
