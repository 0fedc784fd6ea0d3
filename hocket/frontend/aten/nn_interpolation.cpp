// Interpolation in images, at evenly spaced positions and at the positions of a grid.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

// ---- evenly spaced positions

/// The weight of each element of `in` in each of `out`, [in, out]: near elements by their distance,
/// all others zero.
Expr shares(OperatorCall& c, const Resize& r, bool aligned, DType dtype) {
  Type type{dtype, false, {r.in, r.out}};
  auto in = static_cast<double>(r.in), out = static_cast<double>(r.out);
  Expr from{&c, c.iota(type, 0)}, to{&c, c.iota(type, 1)};
  double scale = aligned        ? (r.out > 1 ? (in - 1) / (out - 1) : 0)
                 : r.factor > 0 ? 1 / r.factor
                                : in / out;
  Expr at = aligned ? to * scale : (to + 0.5) * scale - 0.5;
  at = apply(ops::clamp, at, 0.0, in - 1);
  return apply(ops::maximum, 1.0 - apply(ops::abs, at - from), 0.0);
}

/// Multiplies each dimension by its matrix of shares; for the gradient, by its transpose.
Value resampled(OperatorCall& c, Value x, const Ints& size, bool backward) {
  Value y = wide(c, x).value;
  std::size_t rank = c.type(x).shape.size();
  if (rank != size.size()) c.refuse("a gradient of another rank");
  for (const Resize& r : resizes(c, size)) {
    Expr m = shares(c, r, c.flag("align_corners"), c.type(y).dtype);
    Ints last = all_dims(rank);  // swapped with this dimension
    std::swap(last[static_cast<std::size_t>(r.dim)], last.back());
    y = c.permute(product(c, c.permute(y, last), m.value, backward), last);
  }
  return c.cast(y, c.type(x).dtype);
}

Returned linear_resize(OperatorCall& c) {
  Value x = c.value(c.has("self") ? "self" : "input");
  const Shape& shape = c.type(x).shape;
  return resampled(c, x, Ints(shape.begin(), shape.end()), false);
}

Returned linear_resize_backward(OperatorCall& c) {
  return resampled(c, c.value("grad_output"), c.ints("input_size"), true);
}

// ---- grids

enum class Outside : std::uint8_t { zeros, border, reflection };

/// Maps the grid's range [-1, 1] to positions in a dimension, and positions outside of it back.
Expr position(const Expr& grid, std::int64_t elements, bool aligned, Outside outside) {
  auto size = static_cast<double>(elements);
  Expr at = aligned ? (grid + 1.0) * 0.5 * (size - 1) : ((grid + 1.0) * size - 1.0) * 0.5;
  if (outside == Outside::zeros) return at;
  if (outside == Outside::reflection) {
    double low = aligned ? 0 : -0.5, span = aligned ? size - 1 : size;
    if (span == 0) return at * 0.0;
    Expr way = apply(ops::abs, at - low), rest = apply(ops::remainder, way, span);
    Expr odd = apply(ops::remainder, apply(ops::floor, way / span), 2.0) > 0.0;
    at = select(odd, span - rest, rest) + low;
  }
  return apply(ops::clamp, at, 0.0, size - 1);
}

/// An element of one dimension that a position reads, and its weight.
struct Tap {
  Value index;
  Expr share;
};

/// Elements outside have weight zero; their index is any valid one.
Tap tap(const Expr& at, const Expr& share, std::int64_t elements) {
  OperatorCall& c = *at.call;
  Expr inside = (at >= 0.0) & (at <= static_cast<double>(elements - 1));
  Expr index{&c, c.cast(at.value, DType::i64)};
  return {apply(ops::clamp, index, 0, Number(elements - 1)).value, select(inside, share, 0.0)};
}

std::vector<Tap> taps(const Expr& at, std::int64_t elements, bool nearest) {
  if (nearest) return {tap(apply(ops::round, at), at * 0.0 + 1.0, elements)};
  Expr below = apply(ops::floor, at), over = at - below;
  return {tap(below, 1.0 - over, elements), tap(below + 1.0, over, elements)};
}

Returned grid_sampler(OperatorCall& c) {
  Value x = c.value("input"), grid = c.value("grid");
  const Type type = c.type(x), points = c.type(grid);
  std::int64_t mode = c.integer("interpolation_mode"), outside = c.integer("padding_mode");
  if (mode != 0 && mode != 1) c.refuse("samples by bicubic interpolation");
  if (outside < 0 || outside > 2) c.refuse("an unknown padding_mode");
  if (type.shape.size() != 4 || points.shape.size() != 4 || points.shape[3] != 2 ||
      points.shape[0] != type.shape[0] || type.elements() == 0)
    c.refuse("wanted a batch of images and of grids");
  Shape shape = points.shape;
  shape.pop_back();
  auto side = [&](std::int64_t which) {  // the grid holds x before y
    std::int64_t size = type.shape[which == 0 ? 3 : 2];
    Expr g = wide(c, c.reshape(c.slice(grid, 3, which, which + 1), shape));
    return taps(position(g, size, c.flag("align_corners"), static_cast<Outside>(outside)), size,
                mode == 1);
  };
  Value batch = c.iota({DType::i64, false, shape}, 0);
  Expr image = wide(c, x), y{&c, {}};
  std::vector<Tap> across = side(0);
  for (const Tap& v : side(1))
    for (const Tap& h : across) {
      Value there = c.build_lists(ops::index, {{image.value}, {batch, v.index, h.index}},
                                  {{"dims", Ints{0, 2, 3}}})[0];
      Shape one = shape;
      one.push_back(1);
      Expr part = Expr{&c, there} * Expr{&c, c.reshape((v.share * h.share).value, one)};
      y = y.value ? y + part : part;
    }
  return c.cast(c.permute(y.value, {0, 3, 1, 2}), type.dtype);  // from channels last
}

constexpr std::string_view vec = "input output_size align_corners scale_factors";
constexpr std::string_view one = "self output_size align_corners scales";
constexpr std::string_view two = "self output_size align_corners scales_h scales_w";
constexpr std::string_view three = "self output_size align_corners scales_d scales_h scales_w";
constexpr std::string_view one_back = "grad_output output_size input_size align_corners scales";
constexpr std::string_view two_back =
    "grad_output output_size input_size align_corners scales_h scales_w";
constexpr std::string_view three_back =
    "grad_output output_size input_size align_corners scales_d scales_h scales_w";

constexpr Row interpolation_table[] = {
    {"aten.upsample_linear1d.default", one, linear_resize},
    {"aten.upsample_linear1d.vec", vec, linear_resize},
    {"aten.upsample_bilinear2d.default", two, linear_resize},
    {"aten.upsample_bilinear2d.vec", vec, linear_resize},
    {"aten.upsample_trilinear3d.default", three, linear_resize},
    {"aten.upsample_trilinear3d.vec", vec, linear_resize},
    {"aten.upsample_linear1d_backward.default", one_back, linear_resize_backward},
    {"aten.upsample_bilinear2d_backward.default", two_back, linear_resize_backward},
    {"aten.upsample_trilinear3d_backward.default", three_back, linear_resize_backward},
    {"aten.grid_sampler_2d.default", "input grid interpolation_mode padding_mode align_corners",
     grid_sampler},
};

}  // namespace

std::span<const Row> interpolation_rows() { return interpolation_table; }

}  // namespace hocket::frontend::nn
