// Resizing of images by nearest element, and pixel shuffles.

#include <algorithm>
#include <cmath>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

/// One spatial dimension: the element of `in` that each of `out` reads.
struct Side {
  std::int64_t dim, in, out;
  float scale;
  float shift;  // half an element for the exact variant

  std::int64_t source(std::int64_t i) const {
    if (shift == 0 && out == in) return i;
    if (shift == 0 && out == 2 * in) return i / 2;
    auto at = static_cast<std::int64_t>(std::floor((static_cast<float>(i) + shift) * scale));
    return std::min(at, in - 1);
  }
  /// True when every element is repeated equally often, in order.
  bool repeats() const {
    if (in < 1 || out % in != 0) return false;
    for (std::int64_t i = 0; i < out; ++i)
      if (source(i) != i / (out / in)) return false;
    return true;
  }
};

std::size_t resized_dims(const OperatorCall& c) {
  std::string_view name = c.row().target.substr(0, c.row().target.rfind('.'));
  std::size_t at = name.find_first_of("123");
  return static_cast<std::size_t>(name[at] - '0');
}

/// The factors given by the caller; a zero where there is none.
std::vector<double> factors(const OperatorCall& c, std::size_t spatial) {
  std::vector<double> all(spatial, 0);
  if (c.has("scale_factors")) {
    std::vector<Number> given = c.numbers("scale_factors");
    for (std::size_t i = 0; i < spatial && i < given.size(); ++i) all[i] = as_double(given[i]);
    return all;
  }
  constexpr std::string_view names[] = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t i = 0; i < spatial; ++i)
    all[i] = c.real(spatial == 1 ? "scales" : names[3 - spatial + i], 0);
  return all;
}

}  // namespace

std::vector<Resize> resizes(const OperatorCall& c, const Ints& in) {
  std::size_t spatial = resized_dims(c);
  if (in.size() != spatial + 2) c.refuse("wanted a batch of images");
  std::vector<double> factor = factors(c, spatial);
  Ints out = c.ints("output_size");
  if (!out.empty() && out.size() != spatial) c.refuse("output_size does not fit the images");
  std::vector<Resize> all;
  for (std::size_t i = 0; i < spatial; ++i) {
    std::int64_t from = in[i + 2];
    std::int64_t to =
        out.empty() ? static_cast<std::int64_t>(static_cast<double>(from) * factor[i]) : out.at(i);
    if (from < 1 || to < 1) c.refuse("an image without elements");
    all.push_back({static_cast<std::int64_t>(i + 2), from, to, factor[i]});
  }
  return all;
}

namespace {

std::vector<Side> sides(const OperatorCall& c, const Ints& in) {
  float shift = c.row().target.find("exact") != std::string_view::npos ? 0.5F : 0.0F;
  std::vector<Side> all;
  for (const Resize& r : resizes(c, in)) {
    float scale = r.factor > 0 ? static_cast<float>(1.0 / r.factor)
                               : static_cast<float>(r.in) / static_cast<float>(r.out);
    all.push_back({r.dim, r.in, r.out, scale, shift});
  }
  return all;
}

/// The source index of each element, with the source's arithmetic.
Value source_index(OperatorCall& c, const Side& s) {
  Expr i{&c, c.iota({DType::f32, false, {s.out}}, 0)};
  Expr at = apply(ops::floor, (i + double{s.shift}) * double{s.scale});
  return c.cast(apply(ops::minimum, at, static_cast<double>(s.in - 1)).value, DType::i64);
}

/// Shape with dimension `dim` split into its elements and their repetitions.
Shape split(const Shape& shape, const Side& s) {
  Shape wider = shape;
  wider[static_cast<std::size_t>(s.dim)] = s.in;
  wider.insert(wider.begin() + s.dim + 1, s.out / s.in);
  return wider;
}

Value taken(OperatorCall& c, Value x, const Side& s) {
  if (s.repeats() && s.in == s.out) return x;
  Shape shape = c.type(x).shape, one = shape;
  if (!s.repeats())
    return c.build_lists(ops::index, {{x}, {source_index(c, s)}}, {{"dims", Ints{s.dim}}})[0];
  one.insert(one.begin() + s.dim + 1, 1);
  Value spread = c.broadcast(c.reshape(x, one), split(shape, s));
  shape[static_cast<std::size_t>(s.dim)] = s.out;
  return c.reshape(spread, shape);
}

Value given_back(OperatorCall& c, Value dy, const Side& s) {
  if (s.repeats() && s.in == s.out) return dy;
  Shape shape = c.type(dy).shape;
  if (s.repeats()) return c.reduce(ops::sum, c.reshape(dy, split(shape, s)), {s.dim + 1}, false);
  shape[static_cast<std::size_t>(s.dim)] = s.in;
  Value zeros = c.filled({c.type(dy).dtype, false, shape}, 0.0);
  return c.build_lists(ops::index_put, {{zeros}, {dy}, {source_index(c, s)}},
                       {{"dims", Ints{s.dim}}, {"accumulate", true}})[0];
}

Returned nearest(OperatorCall& c) {
  Value y = c.value(c.has("self") ? "self" : "input");
  const Shape shape = c.type(y).shape;
  for (const Side& s : sides(c, Ints(shape.begin(), shape.end()))) y = taken(c, y, s);
  return y;
}

Returned nearest_backward(OperatorCall& c) {
  Value dy = c.value("grad_output"), d = wide(c, dy).value;
  for (const Side& s : sides(c, c.ints("input_size"))) d = given_back(c, d, s);
  return c.cast(d, c.type(dy).dtype);
}

// ---- channels to space and back

/// The last three dimensions of x as [channels, height, width], and all before them.
struct Image {
  Ints lead;
  std::int64_t channels, height, width;
};

Image image(const OperatorCall& c, Value x) {
  const Shape& s = c.type(x).shape;
  if (s.size() < 3) c.refuse("wanted at least channels, height and width");
  std::size_t n = s.size() - 3;
  return {Ints(s.begin(), s.begin() + n), s[n], s[n + 1], s[n + 2]};
}

/// Reshape, permute the trailing dimensions, reshape.
Value shuffled(OperatorCall& c, Value x, const Ints& lead, const Ints& parts, const Ints& order,
               const Ints& whole) {
  auto shape = [&](const Ints& tail) {
    Ints all = lead;
    all.insert(all.end(), tail.begin(), tail.end());
    return Shape(std::span<const std::int64_t>(all));
  };
  Ints dims = all_dims(lead.size());
  for (std::int64_t d : order) dims.push_back(d + static_cast<std::int64_t>(lead.size()));
  return c.reshape(c.permute(c.reshape(x, shape(parts)), dims), shape(whole));
}

Returned pixel_shuffle(OperatorCall& c) {
  Value x = c.value("self");
  Image m = image(c, x);
  std::int64_t r = c.integer("upscale_factor");
  if (r < 1 || m.channels % (r * r) != 0)
    c.refuse("channels are no multiple of the factor squared");
  std::int64_t out = m.channels / (r * r);
  return shuffled(c, x, m.lead, {out, r, r, m.height, m.width}, {0, 3, 1, 4, 2},
                  {out, m.height * r, m.width * r});
}

Returned pixel_unshuffle(OperatorCall& c) {
  Value x = c.value("self");
  Image m = image(c, x);
  std::int64_t r = c.integer("downscale_factor");
  if (r < 1 || m.height % r != 0 || m.width % r != 0)
    c.refuse("height or width is no multiple of the factor");
  return shuffled(c, x, m.lead, {m.channels, m.height / r, r, m.width / r, r}, {0, 2, 4, 1, 3},
                  {m.channels * r * r, m.height / r, m.width / r});
}

/// Interleaves the channels of all groups.
Returned channel_shuffle(OperatorCall& c) {
  Value x = c.value("self");
  const Shape& s = c.type(x).shape;
  std::int64_t groups = c.integer("groups");
  if (s.size() < 3 || groups < 1 || s[1] % groups != 0)
    c.refuse("the channels do not fall into equal groups");
  Ints parts{groups, s[1] / groups}, order{1, 0}, whole{s[1]};
  for (std::size_t i = 2; i < s.size(); ++i) {
    parts.push_back(s[i]);
    order.push_back(static_cast<std::int64_t>(i));
    whole.push_back(s[i]);
  }
  return shuffled(c, x, {s[0]}, parts, order, whole);
}

constexpr std::string_view vec = "input output_size scale_factors";
constexpr std::string_view one = "self output_size scales";
constexpr std::string_view two = "self output_size scales_h scales_w";
constexpr std::string_view three = "self output_size scales_d scales_h scales_w";
constexpr std::string_view one_back = "grad_output output_size input_size scales";
constexpr std::string_view two_back = "grad_output output_size input_size scales_h scales_w";
constexpr std::string_view three_back =
    "grad_output output_size input_size scales_d scales_h scales_w";

constexpr Row resize_table[] = {
    {"aten.upsample_nearest1d.default", one, nearest},
    {"aten.upsample_nearest1d.vec", vec, nearest},
    {"aten.upsample_nearest2d.default", two, nearest},
    {"aten.upsample_nearest2d.vec", vec, nearest},
    {"aten.upsample_nearest3d.default", three, nearest},
    {"aten.upsample_nearest3d.vec", vec, nearest},
    {"aten._upsample_nearest_exact1d.default", one, nearest},
    {"aten._upsample_nearest_exact1d.vec", vec, nearest},
    {"aten._upsample_nearest_exact2d.default", two, nearest},
    {"aten._upsample_nearest_exact2d.vec", vec, nearest},
    {"aten._upsample_nearest_exact3d.default", three, nearest},
    {"aten._upsample_nearest_exact3d.vec", vec, nearest},
    {"aten.upsample_nearest1d_backward.default", one_back, nearest_backward},
    {"aten.upsample_nearest2d_backward.default", two_back, nearest_backward},
    {"aten.upsample_nearest3d_backward.default", three_back, nearest_backward},
    {"aten._upsample_nearest_exact1d_backward.default", one_back, nearest_backward},
    {"aten._upsample_nearest_exact2d_backward.default", two_back, nearest_backward},
    {"aten._upsample_nearest_exact3d_backward.default", three_back, nearest_backward},
    {"aten.pixel_shuffle.default", "self upscale_factor", pixel_shuffle},
    {"aten.pixel_unshuffle.default", "self downscale_factor", pixel_unshuffle},
    {"aten.channel_shuffle.default", "self groups", channel_shuffle},
    {"aten.native_channel_shuffle.default", "self groups", channel_shuffle},
};

}  // namespace

std::span<const Row> resize_rows() { return resize_table; }

}  // namespace hocket::frontend::nn
