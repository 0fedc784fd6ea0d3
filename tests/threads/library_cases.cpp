#include "tests/threads/library_cases.h"

#include "hocket/base/element.h"
#include "hocket/codegen/row_major.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/evaluate.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

std::vector<ConvWindow> windows() {
  std::vector<ConvWindow> list{
      {2, 1, 4, 6, {11}, {3}},
      {2, 1, 17, 33, {9, 12}, {3, 3}, {}, {1, 1}},
      {2, 1, 16, 32, {14, 14}, {3, 3}, {2, 2}},
      {2, 1, 3, 16, {15, 16}, {7, 7}, {2, 2}, {3, 3}},
      {2, 1, 1, 8, {10, 10}, {3, 3}, {}, {1, 1}},
      {2, 1, 24, 8, {6, 7}, {1, 1}},
      {2, 1, 8, 16, {9, 9}, {1, 1}, {2, 3}},
      {2, 1, 8, 8, {12, 13}, {3, 2}, {}, {2, 1}, {2, 3}},
      {1, 1, 5, 7, {12, 11}, {2, 4}, {3, 1}, {0, 2}},
      {2, 1, 4, 4, {4, 4}, {3, 3}, {}, {5, 5}},
      {2, 4, 8, 12, {8, 9}, {3, 3}, {}, {1, 1}},
      {2, 2, 32, 32, {8, 8}, {3, 3}, {2, 1}},
      {2, 8, 16, 16, {20}, {5}, {2}, {2}},
      {2, 32, 32, 32, {9, 10}, {3, 3}, {}, {1, 1}},
      {2, 13, 13, 13, {9, 9}, {3, 3}, {2, 2}, {1, 1}},
      {2, 6, 6, 12, {7, 7}, {3, 3}, {}, {}, {2, 2}},
      {2, 1, 5, 4, {5, 6, 7}, {3, 2, 3}, {}, {1, 0, 1}},
      {2, 2, 4, 6, {6, 5, 7}, {2, 3, 2}, {2, 1, 3}, {1, 1, 0}, {1, 2, 1}},
      {2, 1, 32, 48, {8, 7}, {3, 3}, {2, 2}, {1, 1}},
      {2, 1, 48, 32, {8, 8}, {1, 1}, {2, 2}},
      {2, 2, 32, 64, {7, 7}, {3, 3}, {}, {1, 1}},
      {2, 1, 32, 16, {15}, {3}, {2}, {1}},
      {2, 1, 16, 16, {4, 5, 6}, {3, 3, 3}, {}, {1, 1, 1}},
  };
  std::size_t plain = list.size();
  for (std::size_t i = 0; i < plain; ++i) {
    list.push_back(list[i]);
    list.back().transposed = true;
  }
  list.push_back({2, 1, 6, 4, {5, 6}, {3, 3}, {2, 3}, {1, 0}, {}, {1, 2}, true});
  return list;
}

std::string text(const ConvWindow& w, bool gradient) {
  std::string out;
  auto add = [&](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
  if (!w.stride.empty()) add("stride=" + dims_text(w.stride));
  if (!w.padding.empty()) add("padding=" + dims_text(w.padding));
  if (!w.dilation.empty()) add("dilation=" + dims_text(w.dilation));
  if (w.groups != 1) add(fmt::format("groups={}", w.groups));
  if (w.transposed && !gradient) add("transposed=true");
  if (!w.output_padding.empty()) add("output_padding=" + dims_text(w.output_padding));
  return out;
}

}  // namespace

Tensor numbers(const Type& type, std::uint32_t seed) {
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      t.as<T>()[i] = store<T>(static_cast<double>(seed >> 8) / 0x1p23 - 1);
    }
  });
  return t;
}

Case::Case(const std::string& a, const std::string& b, const std::string& type,
           const std::string& call)
    : program(parse("graph step(%a: " + a + ", %b: " + b + ") {\n  %y: " + type + " = " + call +
                        "\n  return %y\n}\n",
                    ops::all())) {
  const Graph& g = program.graphs[0];
  node = g.node(g.outputs()[0].value);
  for (const Input& in : g.inputs()) {
    operands.push_back(g.type(in.value));
    inputs.push_back(numbers(operands.back(), static_cast<std::uint32_t>(operands.size())));
  }
  results = {g.type(g.result(node))};
}

KernelSpec Case::spec() const {
  return {*call().op, call().attributes, operands, results, *program.world};
}

Tensor Case::plain() const { return evaluate(program.graphs[0], node, inputs)[0]; }

Tensor Case::by(Backend& backend) const {
  std::shared_ptr<const Kernel> kernel = backend.prepare(spec());
  if (kernel == nullptr) return {};
  std::vector<ConstView> from{view_of(inputs[0]), view_of(inputs[1])};
  Tensor result(results[0]);
  View to = view_of(result);
  bind_row_major(backend, *kernel, from, {&to, 1})->run();
  return result;
}

std::string Case::title() const {
  std::string out(call().op->name);
  for (const Type& t : operands) out += " " + to_text(t);
  return out + " -> " + to_text(results[0]);
}

std::vector<Case> matmuls(const std::string& dtype) {
  std::vector<Case> cases;
  struct Sizes {
    std::string lead;
    int m, n, k;
  };
  for (const Sizes& s : {Sizes{"", 7, 5, 3},
                         {"", 64, 48, 80},
                         {"", 1, 33, 17},
                         {"", 19, 1, 40},
                         {"", 1, 1, 1},
                         {"", 3, 130, 1},
                         {"5,", 9, 11, 13},
                         {"2,3,", 16, 8, 31},
                         {"1,", 4, 6, 2},
                         {"2,1,2,", 1, 5, 9}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        auto type = [&](int rows, int columns, bool swapped) {
          return fmt::format("{}[{}{},{}]", dtype, s.lead, swapped ? columns : rows,
                             swapped ? rows : columns);
        };
        std::string flags;
        if (ta) flags += "transpose_a=true";
        if (tb) flags += ta ? ", transpose_b=true" : "transpose_b=true";
        cases.emplace_back(type(s.m, s.k, ta), type(s.k, s.n, tb), type(s.m, s.n, false),
                           "matmul(%a, %b)" + (flags.empty() ? "" : " {" + flags + "}"));
      }
  return cases;
}

std::vector<Case> cases_of(const ConvWindow& w, const std::string& dtype) {
  std::vector<Case> cases;
  auto of = [](const Ints& list, std::size_t i, std::int64_t missing) {
    return list.empty() ? missing : list[i];
  };
  Ints x{w.batch, w.in}, y{w.batch, w.out}, weight{w.out, w.in / w.groups};
  if (w.transposed) weight = {w.in, w.out / w.groups};
  for (std::size_t i = 0; i < w.size.size(); ++i) {
    std::int64_t s = of(w.stride, i, 1), p = of(w.padding, i, 0), d = of(w.dilation, i, 1);
    std::int64_t reach = d * (w.kernel[i] - 1) + 1;
    x.push_back(w.size[i]);
    weight.push_back(w.kernel[i]);
    y.push_back(w.transposed ? (w.size[i] - 1) * s - 2 * p + reach + of(w.output_padding, i, 0)
                             : (w.size[i] + 2 * p - reach) / s + 1);
    if (y.back() <= 0) return {};
  }
  std::string tx = dtype + dims_text(x), ty = dtype + dims_text(y), tw = dtype + dims_text(weight);
  auto braces = [](const std::string& s) { return s.empty() ? "" : " {" + s + "}"; };
  cases.emplace_back(tx, tw, ty, "conv(%a, %b)" + braces(text(w, false)));
  if (w.transposed) return cases;
  auto shaped = [&](const Ints& shape) {
    std::string rest = text(w, true);
    return braces(rest + (rest.empty() ? "" : ", ") + "shape=" + dims_text(shape));
  };
  cases.emplace_back(ty, tw, tx, "conv_grad_input(%a, %b)" + shaped(x));
  cases.emplace_back(ty, tx, tw, "conv_grad_weight(%a, %b)" + shaped(weight));
  return cases;
}

std::vector<Case> convolutions(const std::string& dtype) {
  std::vector<Case> cases;
  for (const ConvWindow& w : windows())
    for (Case& c : cases_of(w, dtype)) cases.push_back(std::move(c));
  return cases;
}

}  // namespace hocket
