// Windows of an image as columns, and back.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

/// The window's positions in an image of this height and width.
struct Windows {
  Ints kernel, dilation, padding, stride, count;
};

Windows windows(const OperatorCall& c, std::span<const std::int64_t> image) {
  Windows w{per_dim(c, "kernel_size", 2, 1),
            per_dim(c, "dilation", 2, 1),
            per_dim(c, "padding", 2, 0),
            per_dim(c, "stride", 2, 1),
            {}};
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    if (w.kernel[i] < 1 || w.dilation[i] < 1 || w.padding[i] < 0 || w.stride[i] < 1 ||
        image[i] + 2 * w.padding[i] < reach)
      c.refuse("a window that does not fit the image");
    w.count.push_back((image[i] + 2 * w.padding[i] - reach) / w.stride[i] + 1);
  }
  return w;
}

/// Row and column indices in the padded image, of shape [kernel height, kernel width, windows down,
/// windows across].
std::vector<Value> places(OperatorCall& c, const Windows& w) {
  Type type{DType::i64, false, {w.kernel[0], w.kernel[1], w.count[0], w.count[1]}};
  std::vector<Value> all;
  for (std::size_t i = 0; i < 2; ++i) {
    auto d = static_cast<std::int64_t>(i);
    Expr inside{&c, c.iota(type, d)}, window{&c, c.iota(type, d + 2)};
    all.push_back((inside * Number(w.dilation[i]) + window * Number(w.stride[i])).value);
  }
  return all;
}

Returned im2col(OperatorCall& c) {
  Value x = c.value("self");
  const Shape s = c.type(x).shape;
  if (s.size() != 3 && s.size() != 4) c.refuse("wanted an image");
  std::size_t lead = s.size() - 2;
  auto first = static_cast<std::int64_t>(lead);
  Windows w = windows(c, {s.begin() + lead, 2});
  Ints around(lead, 0);
  around.insert(around.end(), w.padding.begin(), w.padding.end());
  x = c.build_lists(ops::index, {{padded(c, x, around, around, 0)}, places(c, w)},
                    {{"dims", Ints{first, first + 1}}})[0];
  Shape columns(std::span(s.data(), lead));
  columns.back() *= w.kernel[0] * w.kernel[1];
  columns.push_back(w.count[0] * w.count[1]);
  return c.reshape(x, columns);
}

/// Elements of overlapping windows are summed.
Returned col2im(OperatorCall& c) {
  Value x = c.value("self");
  const Type type = c.type(x);
  std::size_t lead = type.shape.size() - 1;
  Ints size = per_dim(c, "output_size", 2, 1);
  Windows w = windows(c, size);
  if ((lead != 1 && lead != 2) || type.shape.back() != w.count[0] * w.count[1] ||
      type.shape[lead - 1] % (w.kernel[0] * w.kernel[1]) != 0)
    c.refuse("columns that do not fit the windows");
  Shape image(std::span(type.shape.data(), lead));
  image.back() /= w.kernel[0] * w.kernel[1];
  Shape apart = image;
  for (const Ints& sizes : {w.kernel, w.count})
    for (std::int64_t n : sizes) apart.push_back(n);
  Ints around(lead, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    image.push_back(size[i] + 2 * w.padding[i]);
    around.push_back(-w.padding[i]);
  }
  auto first = static_cast<std::int64_t>(lead);
  Value wide = nn::wide(c, c.reshape(x, apart)).value;
  Value zeros = c.filled({c.type(wide).dtype, false, image}, 0.0);
  Value y = c.build_lists(ops::index_put, {{zeros}, {wide}, places(c, w)},
                          {{"dims", Ints{first, first + 1}}, {"accumulate", true}})[0];
  return c.cast(padded(c, y, around, around, 0), type.dtype);
}

constexpr Row unfold_table[] = {
    {"aten.im2col.default", "self kernel_size dilation padding stride", im2col},
    {"aten.col2im.default", "self output_size kernel_size dilation padding stride", col2im},
};

}  // namespace

std::span<const Row> unfold_rows() { return unfold_table; }

}  // namespace hocket::frontend::nn
