// Pads with elements of the tensor: mirrored, repeated at the edge, or from the other end.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

/// One dimension, and the number of elements padded at its beginning and end.
struct PadSide {
  std::int64_t dim, size, low, high;
};

std::vector<PadSide> pad_sides(const OperatorCall& c, const Shape& shape, const Ints& pads) {
  std::size_t rank = shape.size();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) c.refuse("pad does not fit the tensor");
  std::vector<PadSide> all;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {  // the last dimension comes first
    std::size_t d = rank - 1 - i;
    PadSide s{static_cast<std::int64_t>(d), shape[d], pads[2 * i], pads[2 * i + 1]};
    if (s.low != 0 || s.high != 0) all.push_back(s);
  }
  return all;
}

/// The index in the source of each element of the padded dimension.
Value pad_source_index(OperatorCall& c, const PadSide& s, std::string_view mode) {
  auto number = [](std::int64_t n) { return Number(n); };
  // Elements that a negative pad cuts off are not used for a circular pad at the other end.
  std::int64_t first = std::max<std::int64_t>(0, -s.low), last = s.size - 1;
  std::int64_t left = s.size - first - std::max<std::int64_t>(0, -s.high);
  std::int64_t most = std::max(s.low, s.high), size = s.size + s.low + s.high;
  if (left < 1 || size < 1 || (mode == "reflect" && most > last) ||
      (mode == "circular" && most > left))
    c.refuse(fmt::format("pads {} elements by {} and {}", s.size, s.low, s.high));
  Expr at{&c, c.iota({DType::i64, false, {size}}, 0)};
  at = at - number(s.low);
  if (mode == "replicate")
    at = apply(ops::clamp, at, number(0), number(last));
  else if (mode == "circular")
    at = apply(ops::remainder, at - number(first), number(left)) + number(first);
  else if (mode == "reflect")
    at = number(last) - apply(ops::abs, number(last) - apply(ops::abs, at));
  else
    c.refuse(fmt::format("pads by mode '{}'", mode));
  return at.value;
}

/// The mode that the operator's name gives.
std::string_view mode_of(const OperatorCall& c) {
  return c.row().target.starts_with("aten.reflection") ? "reflect" : "replicate";
}

Value taken_from_itself(OperatorCall& c, const Ints& pads, std::string_view mode) {
  Value x = c.value("self");
  for (const PadSide& s : pad_sides(c, c.type(x).shape, pads))
    x = c.build_lists(ops::index, {{x}, {pad_source_index(c, s, mode)}},
                      {{"dims", Ints{s.dim}}})[0];
  return x;
}

Returned pad(OperatorCall& c) { return taken_from_itself(c, c.ints("padding"), mode_of(c)); }

/// The gradient of an element is the sum of the gradients of all its copies.
Returned pad_backward(OperatorCall& c) {
  Value dy = c.value("grad_output"), d = wide(c, dy).value;
  if (c.type(d).shape.size() != c.type("self").shape.size()) c.refuse("a gradient of another rank");
  for (const PadSide& s : pad_sides(c, c.type("self").shape, c.ints("padding"))) {
    Type type = c.type(d);
    type.shape[static_cast<std::size_t>(s.dim)] = s.size;
    d = c.build_lists(ops::index_put,
                      {{c.filled(type, 0.0)}, {d}, {pad_source_index(c, s, mode_of(c))}},
                      {{"dims", Ints{s.dim}}, {"accumulate", true}})[0];
  }
  return c.cast(d, c.type(dy).dtype);
}

constexpr std::string_view back = "grad_output self padding";

constexpr Row pad_table[] = {
    {"aten.reflection_pad1d.default", "self padding", pad},
    {"aten.reflection_pad2d.default", "self padding", pad},
    {"aten.reflection_pad3d.default", "self padding", pad},
    {"aten.replication_pad1d.default", "self padding", pad},
    {"aten.replication_pad2d.default", "self padding", pad},
    {"aten.replication_pad3d.default", "self padding", pad},
    {"aten.reflection_pad1d_backward.default", back, pad_backward},
    {"aten.reflection_pad2d_backward.default", back, pad_backward},
    {"aten.reflection_pad3d_backward.default", back, pad_backward},
    {"aten.replication_pad1d_backward.default", back, pad_backward},
    {"aten.replication_pad2d_backward.default", back, pad_backward},
    {"aten.replication_pad3d_backward.default", back, pad_backward},
};

}  // namespace

Value padded_from_itself(OperatorCall& c, std::string_view mode) {
  return taken_from_itself(c, c.ints("pad"), mode);
}

std::span<const Row> pad_rows() { return pad_table; }

}  // namespace hocket::frontend::nn
