// What the library backend costs beside a bare call of oneDNN with everything prepared, and what it
// gains over the plain kernels: matrix products in all transpositions, convolutions. Values are
// row-major; `kept` is the kernel alone, where the values already lie as it wants them.

#include "hocket/codegen/library/library.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <dnnl.hpp>

#include "hocket/codegen/row_major.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
constexpr auto f32 = dnnl::memory::data_type::f32;

/// One node with values for its operands, and the equivalent direct call of oneDNN.
struct Row {
  std::string name;
  Graph graph;
  NodeId node;
  std::vector<Tensor> inputs;
  std::function<void()> bare;

  double flops() const { return hocket::flops(graph, node); }
};

Tensor filled(const Type& type) {
  Tensor t(type);
  for (std::int64_t i = 0; i < type.elements(); ++i)
    t.as<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  return t;
}

Row row_of(std::string name, const Op& op, const Shape& a, const Shape& b,
           std::initializer_list<Named> attributes) {
  Row r{.name = std::move(name), .graph = Graph()};
  std::vector<Value> operands;
  for (const Shape& shape : {a, b}) {
    Type type{DType::f32, false, shape};
    operands.push_back(r.graph.add_input(type, "x"));
    r.inputs.push_back(filled(type));
  }
  r.node = r.graph.node(op(r.graph, operands, attributes));
  return r;
}

/// The engine and stream of all direct calls, and the values that they use.
struct Bare {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive_attr attributes;

  Bare() { attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user); }
  dnnl::memory filled(const Desc& layout) const {
    dnnl::memory m(layout, engine);
    std::fill_n(static_cast<float*>(m.get_data_handle()), layout.get_size() / sizeof(float), 0.5f);
    return m;
  }
};

struct Product {
  std::int64_t batch, m, n, k;
};

Row matmul_row(const Bare& b, const Product& p, bool ta, bool tb) {
  auto shape = [&](std::int64_t rows, std::int64_t columns, bool swapped) {
    Shape s = p.batch > 1 ? Shape{p.batch} : Shape{};
    s.push_back(swapped ? columns : rows);
    s.push_back(swapped ? rows : columns);
    return s;
  };
  auto layout = [&](std::int64_t rows, std::int64_t columns, bool swapped) {
    Dims dims{rows, columns}, strides{swapped ? 1 : columns, swapped ? rows : 1};
    if (p.batch > 1) {
      dims.insert(dims.begin(), p.batch);
      strides.insert(strides.begin(), rows * columns);
    }
    return Desc(dims, f32, strides);
  };
  Row r = row_of(
      fmt::format("matmul {}{}x{}x{} {}{}", p.batch > 1 ? fmt::format("{} of ", p.batch) : "", p.m,
                  p.n, p.k, ta ? 't' : 'n', tb ? 't' : 'n'),
      ops::matmul, shape(p.m, p.k, ta), shape(p.k, p.n, tb),
      {{"transpose_a", ta}, {"transpose_b", tb}});
  Desc left = layout(p.m, p.k, ta), right = layout(p.k, p.n, tb), out = layout(p.m, p.n, false);
  dnnl::matmul::primitive_desc d({left, right, out}, b.attributes, b.engine);
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, b.filled(left)},
      {DNNL_ARG_WEIGHTS, b.filled(right)},
      {DNNL_ARG_DST, b.filled(out)},
      {DNNL_ARG_SCRATCHPAD, dnnl::memory(d.scratchpad_desc(), b.engine)}};
  r.bare = [&b, primitive = dnnl::matmul(d), arguments] { primitive.execute(b.stream, arguments); };
  return r;
}

/// A 3x3 window with padding 1.
struct Conv {
  std::int64_t batch, channels, groups, size;
};

/// The primitive, with reorders of both operands before it and of the result after it, since these
/// are row-major.
std::function<void()> bare_conv(const Bare& b, const dnnl::primitive_desc& d,
                                const std::array<std::pair<int, Desc>, 3>& ports) {
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SCRATCHPAD, dnnl::memory(d.query_md(dnnl::query::scratchpad_md), b.engine)}};
  struct Change {
    dnnl::reorder reorder;
    dnnl::memory from, to;
  };
  std::vector<Change> before, after;
  for (std::size_t i = 0; i < 3; ++i) {
    auto [argument, layout] = ports[i];
    dnnl::memory plain = b.filled(layout),
                 own = b.filled(d.query_md(dnnl::query::exec_arg_md, argument));
    arguments[argument] = own;
    if (i < 2)
      before.push_back({{plain, own}, plain, own});
    else
      after.push_back({{own, plain}, own, plain});
  }
  return [&b, before, after, arguments, primitive = dnnl::primitive(d)]() mutable {
    for (Change& c : before) c.reorder.execute(b.stream, c.from, c.to);
    primitive.execute(b.stream, arguments);
    for (Change& c : after) c.reorder.execute(b.stream, c.from, c.to);
  };
}

std::vector<Row> conv_rows(const Bare& b, const Conv& c, const std::string& name) {
  std::int64_t each = c.channels / c.groups;
  Shape image{c.batch, c.channels, c.size, c.size}, window{c.channels, each, 3, 3};
  Ints image_dims(image.begin(), image.end()), window_dims(window.begin(), window.end());
  Dims dims(image_dims), weight{c.groups, each, each, 3, 3}, one{1, 1}, none{0, 0};
  using Tag = dnnl::memory::format_tag;
  Desc x(dims, f32, Tag::any), w(weight, f32, Tag::any), plain(dims, f32, Tag::nchw),
      plain_weight(weight, f32, Tag::goihw);
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, x, w, x, one, none, one, one}, b.attributes,
      b.engine);
  dnnl::convolution_backward_data::primitive_desc by_input({direct, x, w, x, one, none, one, one},
                                                           b.attributes, b.engine, forward);
  dnnl::convolution_backward_weights::primitive_desc by_weight(
      {direct, x, w, x, one, none, one, one}, b.attributes, b.engine, forward);
  std::vector<Row> rows;
  rows.push_back(
      row_of(name, ops::conv, image, window, {{"padding", Ints{1, 1}}, {"groups", c.groups}}));
  rows.back().bare =
      bare_conv(b, forward,
                {{{DNNL_ARG_SRC, plain}, {DNNL_ARG_WEIGHTS, plain_weight}, {DNNL_ARG_DST, plain}}});
  rows.push_back(row_of(name + " by input", ops::conv_grad_input, image, window,
                        {{"padding", Ints{1, 1}}, {"groups", c.groups}, {"shape", image_dims}}));
  rows.back().bare = bare_conv(
      b, by_input,
      {{{DNNL_ARG_DIFF_DST, plain}, {DNNL_ARG_WEIGHTS, plain_weight}, {DNNL_ARG_DIFF_SRC, plain}}});
  rows.push_back(row_of(name + " by weight", ops::conv_grad_weight, image, image,
                        {{"padding", Ints{1, 1}}, {"groups", c.groups}, {"shape", window_dims}}));
  rows.back().bare = bare_conv(
      b, by_weight,
      {{{DNNL_ARG_DIFF_DST, plain}, {DNNL_ARG_SRC, plain}, {DNNL_ARG_DIFF_WEIGHTS, plain_weight}}});
  return rows;
}

/// Seconds of one call, repeated for some milliseconds.
double timed(const std::function<void()>& call, int times) {
  double start = thread_seconds();
  for (int i = 0; i < times; ++i) call();
  return (thread_seconds() - start) / times;
}

/// A node bound to row-major values, and to values that lie as the kernel wants them.
struct Bound {
  Tensor result, workspace;
  std::unique_ptr<BoundKernel> row_major, kept;
};

Bound bind(const Row& row, Library& library) {
  const Node& node = row.graph[row.node];
  std::vector<Type> operands{row.inputs[0].type(), row.inputs[1].type()},
      results{row.graph.type(row.graph.result(row.node))};
  auto kernel = library.prepare({*node.op, node.attributes, operands, results, row.graph.world()});
  Bound b{Tensor(results[0]), Tensor(Type{DType::u8, false, {kernel->workspace_bytes}}), {}, {}};
  std::vector<ConstView> from;
  for (const Tensor& t : row.inputs) from.push_back(view_of(t));
  View to = view_of(b.result);
  b.row_major = bind_row_major(library, *kernel, from, {&to, 1});
  for (std::size_t i = 0; i < from.size(); ++i) from[i].layout = kernel->operands[i].layout;
  to.layout = kernel->results[0].layout;
  b.kept = kernel->bind(from, {&to, 1}, b.workspace.bytes());
  return b;
}

void measure_row(const Row& row, Library& library, Bars& bars) {
  Bound bound = bind(row, library);
  auto by_library = [&] { bound.row_major->run(); };
  auto kept = [&] { bound.kept->run(); };
  auto plainly = [&] { evaluate(row.graph, row.node, row.inputs); };
  int times = std::max(1, static_cast<int>(5e8 / row.flops()));
  for (int i = 0; i < 2; ++i) by_library(), row.bare();  // creates primitives and touches pages
  std::vector<Variant> variants{{"bare", [&] { return timed(row.bare, times); }},
                                {"library", [&] { return timed(by_library, times); }},
                                {"plain", [&] { return timed(plainly, 1); }, 1},
                                {"kept", [&] { return timed(kept, times); }}};
  auto m = measure(variants,
                   {.samples = 7, .patience = 0.5, .sentinel_seconds = 0.01, .progress = row.name});
  auto rate = [&](std::size_t i) { return row.flops() / m[i].median * 1e-9; };
  double ratio = m[0].median / m[1].median;
  fmt::print("{:28} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:10.2f} {:10.0f}  {}\n", row.name, rate(2),
             rate(0), rate(1), rate(3), ratio, m[2].median / m[1].median, quiet_text(m[1]));
  if (ratio < 0.8)
    bars.expect(false, row.name, fmt::format("{:.2f} of the bare call", ratio), "at least 0.8");
}

int run() {
  omp_set_num_threads(1);  // for the direct calls; the library backend sets its own number
  Bare bare;
  std::vector<Row> rows;
  for (const Product& p : {Product{1, 512, 512, 512},
                           {1, 256, 1024, 256},
                           {1, 256, 256, 1024},
                           {8, 128, 128, 64},
                           {8, 128, 64, 128}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) rows.push_back(matmul_row(bare, p, ta, tb));
  for (Row& r : conv_rows(bare, {4, 64, 1, 28}, "conv 3x3")) rows.push_back(std::move(r));
  for (Row& r : conv_rows(bare, {4, 128, 128, 28}, "depthwise")) rows.push_back(std::move(r));

  Library library;
  Bars bars;
  fmt::print("{}\n{:28} {:>8} {:>8} {:>8} {:>8} {:>10} {:>10}\n", library.numerics(), "GF/s",
             "plain", "bare", "library", "kept", "of bare", "of plain");
  for (const Row& row : rows) measure_row(row, library, bars);
  if (bars.exit_code() == 0)
    bars.expect(true, "library", "every row at least 0.8 of the bare call", "at least 0.8");
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::run(); }
