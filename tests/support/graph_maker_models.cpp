// Parts of models: layers with their gradients, losses, random numbers, optimizers.

#include "hocket/ops/ops.h"
#include "support/graph_maker.h"

namespace hocket::testing {

void GraphMaker::convolution() {
  DType dtype = some_float();
  std::int64_t groups = dim_of(2), in = groups * dim_of(2), out = groups * dim_of(2),
               size = 3 + dim_of(3), window = dim_of(3);
  std::int64_t stride = dim_of(2), padding = static_cast<std::int64_t>(below(random_, 2)),
               dilation = window > 1 ? 1 : dim_of(2);
  std::size_t spatial = 1 + below(random_, 2);
  Shape x{2, in}, w{out, in / groups};
  for (std::size_t i = 0; i < spatial; ++i) {
    x.push_back(size);
    w.push_back(window);
  }
  Ints strides(spatial, stride), paddings(spatial, padding), dilations(spatial, dilation);
  std::vector<Named> given{
      {"stride", strides}, {"padding", paddings}, {"dilation", dilations}, {"groups", groups}};
  Value image = floats(dtype, x), weight = floats(dtype, w);
  Value y = graph_.result(make(ops::conv, {image, weight}, given));
  keep(y);
  Value dy = floats(dtype, graph_.type(y).shape);
  auto with = [&](const char* name, Attribute value) {
    std::vector<Named> more = given;
    more.push_back({name, std::move(value)});
    return more;
  };
  keep_all(make(ops::conv_grad_input, {dy, weight}, with("shape", Ints(x.begin(), x.end()))));
  keep_all(make(ops::conv_grad_weight, {dy, image}, with("shape", Ints(w.begin(), w.end()))));
  if (chance(random_, 50)) keep_all(make(ops::conv, {dy, weight}, with("transposed", true)));
}

void GraphMaker::pooling() {
  DType dtype = some_float();
  Shape x{2, dim_of(2), 3 + dim_of(3), 3 + dim_of(3)};
  Value image = floats(dtype, x);
  std::vector<Named> given{{"kernel", Ints{2, 3}},
                           {"stride", Ints{dim_of(2), dim_of(2)}},
                           {"padding", Ints{1, static_cast<std::int64_t>(below(random_, 2))}},
                           {"ceil", chance(random_, 50)}};
  NodeId largest = make(ops::max_pool, {image}, given);
  keep_all(largest);
  Value y = graph_.result(largest);
  Ints shape(x.begin(), x.end());
  keep_all(make(ops::max_pool_grad,
                {floats(dtype, graph_.type(y).shape), graph_.result(largest, 1)},
                {{"spatial", std::int64_t{2}}, {"shape", shape}}));
  given.push_back({"count_padding", chance(random_, 50)});
  NodeId average = make(ops::avg_pool, {image}, given);
  keep_all(average);
  given.push_back({"shape", shape});
  keep_all(
      make(ops::avg_pool_grad, {floats(dtype, graph_.type(graph_.result(average)).shape)}, given));
}

void GraphMaker::normalisation() {
  DType dtype = some_float();
  DType wide = row(dtype).accumulate;
  Shape shape{dim_of(3) + 1, dim_of(3), dim_of(4)}, last{shape[2]}, channels{shape[1]};
  Value x = floats(dtype, shape), dy = floats(dtype, shape);
  bool weighted = chance(random_, 70);
  std::uint32_t w = weighted ? 1 : 0;
  auto with = [&](std::vector<Value> operands, const Shape& weight, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) operands.push_back(floats(dtype, weight));
    return operands;
  };
  switch (below(random_, 5)) {
    case 0: {
      std::vector<Named> given{{"dim", static_cast<std::int64_t>(below(random_, 3))}};
      Value y = graph_.result(make(ops::softmax, {x}, given)),
            z = graph_.result(make(ops::log_softmax, {x}, given));
      keep(y);
      keep(z);
      keep_all(make(ops::softmax_grad, {dy, y}, given));
      return keep_all(make(ops::log_softmax_grad, {dy, z}, given));
    }
    case 1: {
      NodeId n = make(ops::layer_norm, with({x}, last, 2 * w), {{"eps", 1e-3}}, {1, w, w});
      keep_all(n);
      return keep_all(make(ops::layer_norm_grad,
                           with({dy, x, graph_.result(n, 1), graph_.result(n, 2)}, last, w), {},
                           {1, 1, 1, 1, w}));
    }
    case 2: {
      NodeId n = make(ops::rms_norm, with({x}, last, w), {}, {1, w});
      keep_all(n);
      return keep_all(
          make(ops::rms_norm_grad, with({dy, x, graph_.result(n, 1)}, last, w), {}, {1, 1, 1, w}));
    }
    case 3: {
      std::vector<Value> operands = with({x}, channels, 2 * w);
      bool running = chance(random_, 50);
      if (running)
        operands.insert(operands.end(), {floats(wide, channels), floats(wide, channels)});
      std::uint32_t r = running ? 1 : 0;
      NodeId n = make(ops::batch_norm, operands, {}, {1, w, w, r, r});
      keep_all(n);
      return keep_all(make(ops::batch_norm_grad,
                           with({dy, x, graph_.result(n, 1), graph_.result(n, 2)}, channels, w), {},
                           {1, 1, 1, 1, w}));
    }
    default:
      return keep_all(
          make(ops::batch_norm_eval,
               with({x, floats(wide, channels), floats(wide, channels)}, channels, 2 * w), {},
               {1, 1, 1, w, w}));
  }
}

void GraphMaker::loss() {
  DType dtype = some_float();
  if (chance(random_, 50)) {
    std::int64_t n = dim_of(4), classes = dim_of(4);
    Value logits = floats(dtype, {n, classes}), target = indices({n}, classes);
    // `indices` may be negative, which a loss refuses: the remainder is not.
    Type scalar[] = {{DType::i64, false, {}}};
    Value bound =
        graph_.result(graph_.add(graph_, {.op = &ops::full,
                                          .attributes = Attributes(ops::full, {{"value", classes}}),
                                          .types = scalar}));
    target = ops::remainder(graph_, target, bound);
    constexpr std::string_view ways[] = {"mean", "sum", "none"};
    std::string way(ways[below(random_, 3)]);
    std::vector<Named> given{{"reduce", way},
                             {"ignore", static_cast<std::int64_t>(below(random_, 3))}};
    keep_all(make(ops::cross_entropy, {logits, target}, given));
    Value dy = floats(dtype, way == "none" ? Shape{n} : Shape{});
    return keep_all(make(ops::cross_entropy_grad, {dy, logits, target}, given));
  }
  std::int64_t l = dim_of(3), s = dim_of(3);
  Value q = floats(dtype, {1, 2, l, 2}), k = floats(dtype, {1, 2, s, 2}),
        v = floats(dtype, {1, 2, s, 3});
  std::vector<Named> given{{"causal", chance(random_, 50)},
                           {"scale", chance(random_, 50) ? 0.5 : 0.0}};
  std::vector<Value> mask;
  if (chance(random_, 50))
    mask.push_back(of({chance(random_, 50) ? DType::boolean : dtype, false, {1, 1, l, s}}));
  auto m = static_cast<std::uint32_t>(mask.size());
  std::vector<Value> operands{q, k, v};
  operands.insert(operands.end(), mask.begin(), mask.end());
  NodeId n = make(ops::attention, operands, given, {1, 1, 1, m});
  keep_all(n);
  operands = {floats(dtype, {1, 2, l, 3}), q, k, v, graph_.result(n), graph_.result(n, 1)};
  operands.insert(operands.end(), mask.begin(), mask.end());
  keep_all(make(ops::attention_grad, operands, given, {1, 1, 1, 1, 1, 1, m}));
}

void GraphMaker::draw() {
  Value key = random_key();
  Type type = random_type();
  type.dtype = some_float();
  keep_all(make(ops::uniform, {key}, {{"low", -1.0}}, {}, {type}));
  keep_all(make(ops::normal, {key}, {{"std", 2.0}}, {}, {type}));
  if (chance(random_, 50)) keep_all(make(ops::normal, {random_key()}, {{"std", 2.0}}, {}, {type}));
  keep_all(
      make(ops::bernoulli, {key}, {{"p", 0.5}}, {}, {Type{DType::boolean, false, type.shape}}));
  keep_all(make(ops::dropout, {floats(type.dtype, {3, 2}), key}, {{"p", 0.25}}));
}

void GraphMaker::optimizer() {
  DType dtype = some_float();
  std::uint32_t count = static_cast<std::uint32_t>(1 + below(random_, 3));
  std::vector<Shape> shapes;
  for (std::uint32_t i = 0; i < count; ++i) shapes.push_back({dim_of(3), dim_of(2)});
  std::vector<Value> operands;
  auto tensors = [&](DType d) {
    for (const Shape& s : shapes) operands.push_back(floats(d, s));
  };
  std::uint32_t scaled = chance(random_, 50) ? 1 : 0, skipped = chance(random_, 50) ? 1 : 0;
  auto numbers = [&] {
    operands.push_back(floats(DType::f32, {}));
    if (scaled != 0) operands.push_back(floats(DType::f32, {}));
    if (skipped != 0) operands.push_back(of({DType::boolean, false, {}}));
  };
  if (chance(random_, 25)) {
    tensors(dtype);
    operands.push_back(floats(dtype, {}));
    return keep_all(make(ops::div_each, operands, {}, {count, 1}));
  }
  tensors(dtype);
  tensors(dtype);
  if (chance(random_, 40)) {
    bool momentum = chance(random_, 60);
    if (momentum) tensors(dtype);
    numbers();
    return keep_all(make(ops::sgd, operands,
                         {{"momentum", momentum ? 0.9 : 0.0},
                          {"weight_decay", chance(random_, 50) ? 0.1 : 0.0},
                          {"nesterov", chance(random_, 50)}},
                         {count, count, momentum ? count : 0, 1, scaled, skipped}));
  }
  tensors(dtype);
  tensors(dtype);
  bool largest = chance(random_, 50);
  if (largest) tensors(dtype);
  for (std::uint32_t i = 0; i < count; ++i) operands.push_back(floats(DType::f32, {}));
  numbers();
  keep_all(make(chance(random_, 50) ? ops::adam : ops::adamw, operands, {{"weight_decay", 0.01}},
                {count, count, count, count, largest ? count : 0, count, 1, scaled, skipped}));
}

}  // namespace hocket::testing
