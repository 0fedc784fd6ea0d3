#include "support/random_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

std::size_t below(Random& r, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(r);
}
bool chance(Random& r, int percent) { return below(r, 100) < static_cast<std::size_t>(percent); }

double special_value(Random& r) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double values[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.0,
                               3.25,
                               -0.75,
                               1e-3,
                               7.0,
                               inf,
                               -inf,
                               std::numeric_limits<double>::quiet_NaN()};
  // Mostly plain numbers: one NaN would swallow everything behind it.
  return values[chance(r, 95) ? below(r, 10) : below(r, std::size(values))];
}

Tensor random_tensor(Random& r, const Type& type, std::size_t integers_below) {
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i)
      t.as<T>()[i] = is_float(type.dtype)
                         ? store<T>(special_value(r))
                         : store<T>(static_cast<std::int64_t>(below(r, integers_below)));
  });
  return t;
}

class Maker {
 public:
  Maker(Random& random, Graph& graph, bool region, std::string group = "world")
      : random_(random), graph_(graph), region_(region), group_(std::move(group)) {}

  void inputs() {
    std::size_t count = 2 + below(random_, 4);
    for (std::size_t i = 0; i < count; ++i) {
      InputInfo info;
      info.state = !region_ && chance(random_, 40);
      if (info.state) {
        info.kind = static_cast<StateKind>(below(random_, 3));
        info.names = {fmt::format("state.{}", i)};
      }
      values_.push_back(graph_.add_input(random_type(), info.state ? "w" : "x", info));
    }
  }

  /// Some more state, of the types that there are.
  void loop_inputs() {
    std::size_t count = 2 + below(random_, 5);
    for (std::size_t i = 0; i < count; ++i) {
      InputInfo info{.names = {fmt::format("loop.{}", i)}, .state = true};
      values_.push_back(graph_.add_input(graph_.type(any()), "w", info));
    }
  }

  /// Updates that depend on their state and on what the ranks have in common.
  void loop_updates() {
    Value last;
    for (const Input& in : graph_.inputs()) {
      if (!in.state || chance(random_, 10)) continue;
      const Type& type = graph_.type(in.value);
      if (last && graph_.type(last) == type && chance(random_, 25)) {
        graph_.set_next(in.value, last);
        continue;
      }
      if (chance(random_, 15))
        if (Value v = some_input(type)) {
          graph_.set_next(in.value, v);
          continue;
        }
      collective();
      wait_for_all();
      Value with = of(type);
      if (type.dtype == DType::boolean)
        last = ops::bit_xor(graph_, in.value, with);
      else
        last = (chance(random_, 50) ? ops::sub : ops::maximum)(graph_, in.value, with);
      keep(last);
      graph_.set_next(in.value, last);
    }
  }

  void node() {
    // Weighted by repetition: elementwise ops are the bulk of real graphs.
    static const std::vector<void (Maker::*)()> makers = {
        &Maker::elementwise,   &Maker::elementwise,    &Maker::elementwise, &Maker::elementwise,
        &Maker::elementwise,   &Maker::elementwise,    &Maker::compare,     &Maker::select,
        &Maker::cast,          &Maker::reshape,        &Maker::reshape,     &Maker::permute,
        &Maker::broadcast,     &Maker::reduction,      &Maker::reduction,   &Maker::reduction,
        &Maker::matmul,        &Maker::constant,       &Maker::full,        &Maker::twin,
        &Maker::twin,          &Maker::rank_and_shard, &Maker::movement,    &Maker::movement,
        &Maker::convolution,   &Maker::pooling,        &Maker::indexing,    &Maker::indexing,
        &Maker::normalisation, &Maker::normalisation,  &Maker::loss,        &Maker::draw,
        &Maker::optimizer,
    };
    static const std::vector<void (Maker::*)()> outer = {
        &Maker::collective, &Maker::collective, &Maker::collective,
        &Maker::gradients,  &Maker::chain,      &Maker::after,
        &Maker::call,       &Maker::call,       &Maker::barrier};
    std::size_t pick = below(random_, makers.size() + (region_ ? 0 : outer.size()));
    (this->*(pick < makers.size() ? makers[pick] : outer[pick - makers.size()]))();
  }

  /// Sends some value to the other stage; its type.
  Type send(std::int64_t to, std::int64_t channel) {
    Value x = any();
    NodeId n = make(ops::send, {x}, {{"group", "pp"}, {"to", to}, {"channel", channel}});
    keep(ops::wait(graph_, graph_.result(n)));
    return graph_.type(x);
  }

  void receive(std::int64_t from, const Type& type, std::int64_t channel) {
    NodeId n = make(ops::recv, {},
                    {{"group", "pp"}, {"from", from}, {"type", type}, {"channel", channel}});
    keep(ops::wait(graph_, graph_.result(n)));
  }

  /// A collective in which ranks with other graphs take part.
  void meet(const Type& type, std::int64_t channel) {
    NodeId n = make(ops::all_reduce, {of(type)}, {{"group", "world"}, {"channel", channel}});
    keep(ops::wait(graph_, graph_.result(n)));
  }

  void outputs() {
    wait_for_all();
    std::size_t count = 1 + below(random_, 6);
    for (std::size_t i = 0; i < count; ++i)
      graph_.add_output(region_ ? "" : fmt::format("out.{}", i), any());
    if (region_) return;
    for (const Input& in : graph_.inputs()) {
      if (!in.state || chance(random_, 20)) continue;
      for (Value v : shuffled())
        if (graph_.type(v) == graph_.type(in.value) && v != in.value) {
          graph_.set_next(in.value, v);
          break;
        }
    }
  }

 private:
  struct Flight {
    NodeId start;
    std::vector<bool> waited;
  };

  Type random_type() {
    constexpr DType dtypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::bf16,
                                DType::f16, DType::i64, DType::i32, DType::u8,  DType::boolean};
    Type t{dtypes[below(random_, std::size(dtypes))], false, {}};
    std::size_t rank = below(random_, 4);
    for (std::size_t i = 0; i < rank; ++i)
      t.shape.push_back(chance(random_, 3) ? 0 : static_cast<std::int64_t>(1 + below(random_, 4)));
    return t;
  }

  Value any() { return values_[below(random_, values_.size())]; }

  std::vector<Value> shuffled() {
    std::vector<Value> list = values_;
    std::shuffle(list.begin(), list.end(), random_);
    return list;
  }

  Value some_input(const Type& type) {
    auto inputs = graph_.inputs();
    std::size_t start = below(random_, inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Value v = inputs[(start + i) % inputs.size()].value;
      if (graph_.type(v) == type) return v;
    }
    return {};
  }

  /// Any value that the predicate likes, none when there is none.
  Value some(const std::function<bool(const Type&)>& like) {
    std::size_t start = below(random_, values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Value v = values_[(start + i) % values_.size()];
      if (like(graph_.type(v))) return v;
    }
    return {};
  }

  Value partner(Value a) {
    const Type& t = graph_.type(a);
    return some([&](const Type& u) {
      return u.dtype == t.dtype && (u.shape == t.shape || u.shape.empty() || t.shape.empty());
    });
  }

  void keep(Value v) { values_.push_back(v); }

  void elementwise() {
    enum class Wants : std::uint8_t { numbers, floats, integers, bits };
    static const std::vector<std::pair<const Op*, Wants>> list = {
        {&ops::add, Wants::numbers},         {&ops::sub, Wants::numbers},
        {&ops::mul, Wants::numbers},         {&ops::div, Wants::floats},
        {&ops::floor_div, Wants::numbers},   {&ops::remainder, Wants::numbers},
        {&ops::fma, Wants::floats},          {&ops::neg, Wants::numbers},
        {&ops::abs, Wants::numbers},         {&ops::sign, Wants::numbers},
        {&ops::maximum, Wants::numbers},     {&ops::minimum, Wants::numbers},
        {&ops::clamp, Wants::numbers},       {&ops::floor, Wants::floats},
        {&ops::ceil, Wants::floats},         {&ops::round, Wants::floats},
        {&ops::trunc, Wants::floats},        {&ops::sqrt, Wants::floats},
        {&ops::rsqrt, Wants::floats},        {&ops::exp, Wants::floats},
        {&ops::expm1, Wants::floats},        {&ops::log, Wants::floats},
        {&ops::log1p, Wants::floats},        {&ops::pow, Wants::floats},
        {&ops::sin, Wants::floats},          {&ops::cos, Wants::floats},
        {&ops::tan, Wants::floats},          {&ops::atan, Wants::floats},
        {&ops::tanh, Wants::floats},         {&ops::erf, Wants::floats},
        {&ops::bit_and, Wants::bits},        {&ops::bit_or, Wants::bits},
        {&ops::bit_xor, Wants::bits},        {&ops::bit_not, Wants::bits},
        {&ops::shift_left, Wants::integers}, {&ops::shift_right, Wants::integers},
        {&ops::relu, Wants::numbers},        {&ops::sigmoid, Wants::floats},
        {&ops::gelu, Wants::floats},         {&ops::gelu_tanh, Wants::floats},
        {&ops::silu, Wants::floats},         {&ops::hardswish, Wants::floats},
        {&ops::sigmoid_grad, Wants::floats}, {&ops::tanh_grad, Wants::floats},
        {&ops::gelu_grad, Wants::floats},    {&ops::gelu_tanh_grad, Wants::floats},
        {&ops::silu_grad, Wants::floats},    {&ops::hardswish_grad, Wants::floats},
    };
    auto [op, wants] = list[below(random_, list.size())];
    Value a = some([wants = wants](const Type& t) {
      if (wants == Wants::floats) return is_float(t.dtype);
      if (wants == Wants::integers) return is_integer(t.dtype);
      return wants == Wants::numbers ? t.dtype != DType::boolean : !is_float(t.dtype);
    });
    if (!a) return;
    std::vector<Value> operands{a};
    Value shaped = a;
    while (operands.size() < op->operands.size()) {
      Value next = chance(random_, 10) ? a : partner(shaped);
      if (!graph_.type(next).shape.empty()) shaped = next;
      operands.push_back(next);
    }
    keep((*op)(graph_, operands, {}));
  }

  void compare() {
    static const std::vector<const Op*> list = {&ops::eq, &ops::ne, &ops::lt,
                                                &ops::le, &ops::gt, &ops::ge};
    Value a = any();
    keep((*list[below(random_, list.size())])(graph_, a, partner(a)));
  }

  void select() {
    Value a = any(), b = partner(a);
    Shape shape = graph_.type(a).shape.empty() ? graph_.type(b).shape : graph_.type(a).shape;
    Value c = some([&](const Type& t) {
      return t.dtype == DType::boolean && (t.shape == shape || t.shape.empty());
    });
    if (c) keep(ops::select(graph_, c, a, b));
  }

  void cast() {
    Value a = any();
    DType to = chance(random_, 30) ? graph_.type(a).dtype : random_type().dtype;
    keep(ops::cast(graph_, {a}, {{"dtype", to}}));
  }

  void reshape() {
    Value a = any();
    const Type& t = graph_.type(a);
    Ints shape(t.shape.begin(), t.shape.end());
    if (chance(random_, 50))
      std::reverse(shape.begin(), shape.end());
    else if (chance(random_, 80))
      shape = {t.elements()};
    keep(ops::reshape(graph_, {a}, {{"shape", shape}}));
  }

  void permute() {
    Value a = any();
    Ints dims;
    for (std::size_t i = 0; i < graph_.type(a).shape.size(); ++i)
      dims.push_back(static_cast<std::int64_t>(i));
    if (chance(random_, 80)) std::shuffle(dims.begin(), dims.end(), random_);
    keep(ops::permute(graph_, {a}, {{"dims", dims}}));
  }

  void broadcast() {
    Value a = some([](const Type& t) { return t.elements() < 200; });
    if (!a) return;
    Ints shape;
    if (chance(random_, 50)) shape.push_back(static_cast<std::int64_t>(1 + below(random_, 3)));
    for (std::int64_t d : graph_.type(a).shape)
      shape.push_back(d == 1 && chance(random_, 70) ? 3 : d);
    keep(ops::broadcast(graph_, {a}, {{"shape", shape}}));
  }

  void reduction() {
    static const std::vector<const Op*> list = {
        &ops::sum,    &ops::mean,   &ops::product, &ops::max,    &ops::min,    &ops::any,
        &ops::all_of, &ops::argmax, &ops::argmin,  &ops::cumsum, &ops::cumprod};
    const Op* op = list[below(random_, list.size())];
    bool logic = op == &ops::any || op == &ops::all_of;
    Value a = some([&](const Type& t) {
      if (logic) return t.dtype == DType::boolean;
      if (op == &ops::mean) return is_float(t.dtype) && t.elements() > 0;
      return t.dtype != DType::boolean &&
             (op == &ops::sum || (t.elements() > 0 && !t.shape.empty()));
    });
    if (!a) return;
    auto rank = graph_.type(a).shape.size();
    if (op->attribute_index("dim") >= 0) {
      auto dim = static_cast<std::int64_t>(below(random_, rank));
      if (op->attribute_index("keep") < 0) return keep((*op)(graph_, {a}, {{"dim", dim}}));
      return keep((*op)(graph_, {a}, {{"dim", dim}, {"keep", chance(random_, 50)}}));
    }
    Ints dims;
    for (std::size_t i = 0; i < rank; ++i)
      if (chance(random_, 50)) dims.push_back(static_cast<std::int64_t>(i));
    keep((*op)(graph_, {a}, {{"dims", dims}, {"keep", chance(random_, 50)}}));
  }

  // ---- operands made to measure

  DType some_float() {
    constexpr DType list[] = {DType::f32, DType::f32, DType::f64, DType::bf16, DType::f16};
    return list[below(random_, std::size(list))];
  }

  Value iota(DType dtype, const Shape& shape) {
    Type types[] = {{dtype, false, shape}};
    auto dim = static_cast<std::int64_t>(below(random_, shape.size()));
    return graph_.result(graph_.add(
        graph_,
        {.op = &ops::iota, .attributes = Attributes(ops::iota, {{"dim", dim}}), .types = types}));
  }

  /// Something small that depends on what was computed before.
  Value seed() {
    Value v = some([](const Type& t) { return t.dtype == DType::f32; });
    if (!v) v = some([](const Type& t) { return t.dtype != DType::boolean; });
    if (!v) v = ops::cast(graph_, {any()}, {{"dtype", DType::f32}});
    Ints dims;
    for (std::size_t i = 0; i < graph_.type(v).shape.size(); ++i)
      dims.push_back(static_cast<std::int64_t>(i));
    Value total =
        ops::cast(graph_, {ops::sum(graph_, {v}, {{"dims", dims}})}, {{"dtype", DType::f32}});
    return ops::tanh(graph_, total);
  }

  /// A value of this type: one that is there, or one made for it.
  Value of(const Type& type) {
    if (chance(random_, 40))
      if (Value v = some([&](const Type& t) { return t == type; })) return v;
    if (type.shape.empty()) return ops::cast(graph_, {seed()}, {{"dtype", type.dtype}});
    Value x = ops::mul(graph_, iota(DType::f32, type.shape), seed());
    return ops::cast(graph_, {ops::sin(graph_, x)}, {{"dtype", type.dtype}});
  }

  Value floats(DType dtype, const Shape& shape) { return of({dtype, false, shape}); }

  /// Indices below a bound, which is not zero.
  Value indices(const Shape& shape, std::int64_t bound) {
    Value i = shape.empty() ? ops::cast(graph_, {seed()}, {{"dtype", DType::i64}})
                            : iota(DType::i64, shape);
    Type scalar[] = {{DType::i64, false, {}}};
    auto number = [&](std::int64_t n) {
      return graph_.result(graph_.add(graph_, {.op = &ops::full,
                                               .attributes = Attributes(ops::full, {{"value", n}}),
                                               .types = scalar}));
    };
    Value turned = ops::mul(graph_, i, number(static_cast<std::int64_t>(1 + below(random_, 5))));
    Value inside = ops::remainder(graph_, turned, number(bound));
    return chance(random_, 20) ? ops::sub(graph_, inside, number(bound)) : inside;  // from the end
  }

  void keep_all(NodeId n) {
    for (Value v : graph_.results(n)) keep(v);
  }

  NodeId make(const Op& op, const std::vector<Value>& inputs, const std::vector<Named>& given,
              std::vector<std::uint32_t> sizes = {}, std::vector<Type> types = {}) {
    Attributes attributes(op, given);
    if (!sizes.empty()) attributes = attributes.with_list_sizes(std::move(sizes));
    return graph_.add(graph_,
                      {.op = &op, .inputs = inputs, .attributes = attributes, .types = types});
  }

  std::int64_t dim_of(std::int64_t most) {
    return static_cast<std::int64_t>(1 + below(random_, static_cast<std::size_t>(most)));
  }

  // ---- families

  void movement() {
    Value a = some([](const Type& t) { return !t.shape.empty() && t.elements() > 0; });
    if (!a) return;
    const Type t = graph_.type(a);
    Ints starts, stops, steps, low, high;
    for (std::int64_t d : t.shape) {
      starts.push_back(static_cast<std::int64_t>(below(random_, static_cast<std::size_t>(d))));
      stops.push_back(starts.back() +
                      static_cast<std::int64_t>(
                          below(random_, static_cast<std::size_t>(d - starts.back() + 1))));
      steps.push_back(dim_of(2));
      low.push_back(static_cast<std::int64_t>(below(random_, 3)) - 1);
      high.push_back(static_cast<std::int64_t>(below(random_, 3)));
    }
    auto dim = static_cast<std::int64_t>(below(random_, t.shape.size()));
    switch (below(random_, 5)) {
      case 0:
        return keep(
            ops::slice(graph_, {a}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}));
      case 1:
        return keep(
            ops::pad(graph_, {a, of({t.dtype, false, {}})}, {{"low", low}, {"high", high}}));
      case 2:
        return keep(ops::concat(graph_, {a, of(t), a}, {{"dim", dim}}));
      case 3:
        return keep(ops::flip(graph_, {a}, {{"dims", Ints{dim}}}));
      default:
        return keep(ops::stop_gradient(graph_, a));
    }
  }

  void convolution() {
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

  void pooling() {
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
    keep_all(make(ops::avg_pool_grad, {floats(dtype, graph_.type(graph_.result(average)).shape)},
                  given));
  }

  void indexing() {
    Value a = some(
        [](const Type& t) { return !t.shape.empty() && t.elements() > 0 && t.elements() < 200; });
    if (!a) return;
    const Type t = graph_.type(a);
    auto d = below(random_, t.shape.size());
    auto dim = static_cast<std::int64_t>(d);
    Shape shape = t.shape;
    shape[d] = dim_of(4);
    constexpr std::string_view ways[] = {"replace", "sum", "product", "min", "max"};
    bool flags = t.dtype == DType::boolean;
    switch (below(random_, 8)) {
      case 0:
        return keep(ops::gather(graph_, {a, indices(shape, t.shape[d])}, {{"dim", dim}}));
      case 1:
        return keep(ops::scatter(
            graph_, {a, indices(shape, t.shape[d]), of({t.dtype, false, shape})},
            {{"dim", dim}, {"reduce", std::string(ways[flags ? 0 : below(random_, 5)])}}));
      case 2:
        return keep_all(
            make(ops::index, {a, indices({3}, t.shape[d])}, {{"dims", Ints{dim}}}, {1, 1}));
      case 3: {
        NodeId picked =
            make(ops::index, {a, indices({2, 1}, t.shape[d])}, {{"dims", Ints{dim}}}, {1, 1});
        Type values = graph_.type(graph_.result(picked));
        keep_all(picked);
        return keep_all(make(ops::index_put, {a, of(values), indices({2, 1}, t.shape[d])},
                             {{"dims", Ints{dim}}, {"accumulate", !flags && chance(random_, 60)}},
                             {1, 1, 1}));
      }
      case 4: {
        DType dtype = some_float();
        Value ids = indices({3}, 4);
        keep(ops::embedding(graph_, floats(dtype, {4, 2}), ids));
        return keep(
            ops::embedding_grad(graph_, {floats(dtype, {3, 2}), ids}, {{"rows", std::int64_t{4}}}));
      }
      case 5:
        return keep_all(make(ops::sort, {a}, {{"dim", dim}, {"descending", chance(random_, 50)}}));
      case 6:
        return keep_all(
            make(ops::topk, {a},
                 {{"dim", dim}, {"k", dim_of(t.shape[d])}, {"smallest", chance(random_, 50)}}));
      default:
        return keep(iota(DType::i32, t.shape));
    }
  }

  void normalisation() {
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
        return keep_all(make(ops::rms_norm_grad, with({dy, x, graph_.result(n, 1)}, last, w), {},
                             {1, 1, 1, w}));
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
                             with({dy, x, graph_.result(n, 1), graph_.result(n, 2)}, channels, w),
                             {}, {1, 1, 1, 1, w}));
      }
      default:
        return keep_all(
            make(ops::batch_norm_eval,
                 with({x, floats(wide, channels), floats(wide, channels)}, channels, 2 * w), {},
                 {1, 1, 1, w, w}));
    }
  }

  void loss() {
    DType dtype = some_float();
    if (chance(random_, 50)) {
      std::int64_t n = dim_of(4), classes = dim_of(4);
      Value logits = floats(dtype, {n, classes}), target = indices({n}, classes);
      // A target counted from the end is out of range for a loss.
      Type scalar[] = {{DType::i64, false, {}}};
      Value bound = graph_.result(
          graph_.add(graph_, {.op = &ops::full,
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

  Value random_key() {
    Tensor t(Type{DType::i64, false, {2}});
    for (int i : {0, 1}) t.as<std::int64_t>()[i] = static_cast<std::int64_t>(below(random_, 1000));
    return *ops::add_constant(graph_, t);
  }

  void draw() {
    Value key = random_key();
    Type type = random_type();
    type.dtype = some_float();
    keep_all(make(ops::uniform, {key}, {{"low", -1.0}}, {}, {type}));
    keep_all(make(ops::normal, {key}, {{"std", 2.0}}, {}, {type}));
    if (chance(random_, 50))
      keep_all(make(ops::normal, {random_key()}, {{"std", 2.0}}, {}, {type}));
    keep_all(
        make(ops::bernoulli, {key}, {{"p", 0.5}}, {}, {Type{DType::boolean, false, type.shape}}));
    keep_all(make(ops::dropout, {floats(type.dtype, {3, 2}), key}, {{"p", 0.25}}));
  }

  void optimizer() {
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

  void matmul() {
    Value a = some([](const Type& t) { return t.dtype != DType::boolean && t.shape.size() == 2; });
    if (!a) return;
    const Type& t = graph_.type(a);
    bool ta = chance(random_, 50);
    Value b = some([&](const Type& u) {
      return u.dtype == t.dtype && u.shape.size() == 2 && u.shape[0] == t.shape[ta ? 0 : 1];
    });
    if (b) return keep(ops::matmul(graph_, {a, b}, {{"transpose_a", ta}}));
    keep(ops::matmul(graph_, {a, a}, {{"transpose_b", true}}));
  }

  void constant() {
    Type t = random_type();
    if (t.elements() > ops::max_written_elements) t.shape = {2};
    if (auto v = ops::add_constant(graph_, random_tensor(random_, t, 5))) keep(*v);
  }

  void full() {
    Type t = random_type();
    Attribute value = is_float(t.dtype) ? Attribute(special_value(random_))
                      : is_integer(t.dtype)
                          ? Attribute(static_cast<std::int64_t>(below(random_, 4)))
                          : Attribute(chance(random_, 50));
    Type types[] = {t};
    keep(graph_.result(graph_.add(graph_, {.op = &ops::full,
                                           .attributes = Attributes(ops::full, {{"value", value}}),
                                           .types = types})));
  }

  /// A node once more, so that there is something to merge.
  void twin() {
    std::vector<NodeId> pure;
    for (NodeId n : std::as_const(graph_).nodes())
      if (graph_[n].op->pure() && !graph_[n].op->starts && !graph_[n].op->waits &&
          graph_[n].result_count == 1)
        pure.push_back(n);
    if (pure.empty()) return;
    const Node& node = graph_[pure[below(random_, pure.size())]];
    Type types[] = {graph_.type({node.first_result})};
    keep(graph_.result(graph_.add(graph_, {.op = node.op,
                                           .inputs = {node.inputs.data(), node.inputs.size()},
                                           .attributes = node.attributes,
                                           .types = types,
                                           .region = node.region})));
  }

  void rank_and_shard() {
    if (chance(random_, 30))
      keep(ops::rank(graph_, std::initializer_list<Value>{}, {{"group", group_}}));
    else
      keep(ops::shard(graph_, {any()}, {{"group", group_}}));
  }

  void after() {
    std::vector<Value> operands{any(), any()};
    keep(ops::after(graph_, operands, {}));
  }

  void barrier() {
    if (chance(random_, 70)) return;
    graph_.add(graph_,
               {.op = &ops::barrier, .attributes = Attributes(ops::barrier, {{"group", group_}})});
  }

  void call() {
    Graph inner("region", graph_.shared_world());
    Maker maker(random_, inner, true);
    std::vector<Value> operands;
    for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
      Value v = any();
      operands.push_back(v);
      maker.values_.push_back(inner.add_input(graph_.type(v), "p"));
    }
    for (std::size_t i = 0; i < 2 + below(random_, 5); ++i) maker.node();
    maker.outputs();
    NodeId n = graph_.add(graph_, {.op = &ops::call,
                                   .inputs = operands,
                                   .attributes = Attributes(ops::call, {}),
                                   .region = std::make_shared<const Graph>(std::move(inner))});
    for (Value v : graph_.results(n)) keep(v);
  }

  void collective() {
    if (!flights_.empty() && chance(random_, 50)) return wait();
    static const std::vector<const Op*> list = {&ops::all_reduce,     &ops::all_gather,
                                                &ops::reduce_scatter, &ops::reduce,
                                                &ops::broadcast_from, &ops::all_to_all};
    const Op* op = list[below(random_, list.size())];
    std::string group = some_group();
    auto size = *graph_.world().group_size(group);
    std::vector<Value> operands;
    bool reduces = op == &ops::all_reduce || op == &ops::reduce_scatter || op == &ops::reduce;
    for (std::size_t i = 0; i < 1 + below(random_, 3); ++i) {
      Value v = some([&](const Type& t) {
        if (t.elements() > 200 || (reduces && t.dtype == DType::boolean)) return false;
        return (op != &ops::reduce_scatter && op != &ops::all_to_all) ||
               (!t.shape.empty() && t.shape[0] % size == 0);
      });
      if (v) operands.push_back(v);
    }
    if (operands.empty()) return;
    constexpr std::string_view reductions[] = {"sum", "min", "max", "product"};
    std::vector<Named> given{{"group", group}};
    if (reduces)
      given.push_back({"reduce", std::string(reductions[below(random_, std::size(reductions))])});
    if (op->attribute_index("root") >= 0)
      given.push_back(
          {"root", static_cast<std::int64_t>(below(random_, static_cast<std::size_t>(size)))});
    NodeId n =
        graph_.add(graph_, {.op = op, .inputs = operands, .attributes = Attributes(*op, given)});
    flights_.push_back({n, std::vector<bool>(operands.size())});
  }

  /// One of the axes, or all ranks that the graph may speak to.
  std::string some_group() {
    if (group_ != "world" || graph_.world().mesh().size() < 2 || chance(random_, 40)) return group_;
    return graph_.world().mesh()[below(random_, 2)].name;
  }

  /// Several all-reduces of one kind, called in another order than their operands are computed,
  /// with a division in front of some or behind; now and then of a value that another one brought.
  void gradients() {
    DType dtype = some_float();
    std::string group = some_group();
    bool before = chance(random_, 50);
    auto divided = [&](Value v) {
      Type scalar{dtype, false, {}};
      Tensor two(scalar);
      visit(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        two.as<T>()[0] = store<T>(static_cast<std::int64_t>(chance(random_, 80) ? 3 : 5));
      });
      return ops::div(graph_, v, *ops::add_constant(graph_, two));
    };
    std::vector<Value> made;
    for (std::size_t i = 0; i < 2 + below(random_, 4); ++i) {
      Value v = floats(dtype, {dim_of(4), dim_of(3)});
      made.push_back(before && chance(random_, 80) ? divided(v) : v);
    }
    std::shuffle(made.begin(), made.end(), random_);
    for (Value v : made) {
      std::string reduce = chance(random_, 85) ? "sum" : "max";
      Value h = graph_.result(make(ops::all_reduce, {v}, {{"group", group}, {"reduce", reduce}}));
      graph_.set_path(graph_.node(h), fmt::format("layers.{}", below(random_, 2)));
      if (chance(random_, 30)) {
        flights_.push_back({graph_.node(h), {false}});
        continue;
      }
      Value arrived = ops::wait(graph_, h);
      if (chance(random_, 30)) graph_.add_output(fmt::format("sum.{}", sums_++), arrived);
      keep(!before && chance(random_, 80) ? divided(arrived) : arrived);
      if (chance(random_, 20)) keep(ops::neg(graph_, arrived));
    }
  }

  /// Collectives of which each needs what the one before brought.
  void chain() {
    std::string group = some_group();
    Value v = floats(DType::f32, {2, 2});
    for (std::size_t i = 0; i < 2 + below(random_, 3); ++i) {
      v = ops::wait(graph_, graph_.result(make(ops::all_reduce, {v}, {{"group", group}})));
      if (chance(random_, 70)) v = ops::tanh(graph_, v);
      keep(v);
    }
  }

  /// Waits for some results of a collective, at times for the same one again.
  void wait() {
    Flight& flight = flights_[below(random_, flights_.size())];
    std::vector<Value> arrived;
    for (std::uint32_t i = 0; i < flight.waited.size(); ++i)
      if (chance(random_, 60)) {
        arrived.push_back(graph_.result(flight.start, i));
        flight.waited[i] = true;
      }
    if (arrived.empty()) return;
    NodeId n = graph_.add(graph_, {.op = &ops::wait, .inputs = arrived});
    for (Value v : graph_.results(n)) keep(v);
  }

  void wait_for_all() {
    for (Flight& flight : flights_) {
      if (std::ranges::find(flight.waited, true) != flight.waited.end()) continue;
      keep(ops::wait(graph_, graph_.result(flight.start)));
    }
  }

  Random& random_;
  Graph& graph_;
  bool region_;
  std::string group_;
  std::vector<Value> values_;
  std::vector<Flight> flights_;
  int sums_ = 0;  // outputs that came out of `gradients`
};

}  // namespace

namespace {

/// Two stages: what the first one computes goes to the second, and something comes back.
Program random_pipeline(Random& random, const RandomProgram& options) {
  auto world =
      std::make_shared<const World>(std::vector<Axis>{{"pp", 2}, {"dp", options.ranks / 2}});
  Program program;
  program.world = world;
  std::vector<Maker> makers;
  for (const char* name : {"first", "second"}) program.graphs.emplace_back(name, world);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<int> mine;
    for (int r = 0; r < options.ranks / 2; ++r)
      mine.push_back(static_cast<int>(i) * options.ranks / 2 + r);
    program.graphs[i].set_ranks(mine);
    makers.emplace_back(random, program.graphs[i], false, "dp");
    makers[i].inputs();
  }
  std::size_t transfers = 1 + below(random, 3);
  for (std::size_t t = 0; t < transfers; ++t) {
    for (Maker& m : makers)
      for (int i = 0; i < options.nodes / 8; ++i) m.node();
    std::size_t from = below(random, 2);
    Type type = makers[from].send(static_cast<std::int64_t>(1 - from),
                                  1000 * (1 + static_cast<std::int64_t>(t)));
    makers[1 - from].receive(static_cast<std::int64_t>(from), type,
                             1000 * (1 + static_cast<std::int64_t>(t)));
    if (chance(random, 50))
      for (Maker& m : makers)
        m.meet({DType::f32, false, {2}}, 500 + 1000 * (1 + static_cast<std::int64_t>(t)));
  }
  for (Maker& m : makers) m.outputs();
  return program;
}

}  // namespace

Program random_program(Random& random, const RandomProgram& options) {
  if (options.stages) return random_pipeline(random, options);
  auto world =
      options.ranks == 1
          ? std::make_shared<const World>()
          : std::make_shared<const World>(
                options.ranks % 4 == 0 ? std::vector<Axis>{{"dp", options.ranks / 2}, {"tp", 2}}
                                       : std::vector<Axis>{{"dp", options.ranks}});
  Graph g("step", world);
  Maker maker(random, g, false);
  maker.inputs();
  if (options.loop) maker.loop_inputs();
  while (g.size() < static_cast<std::size_t>(options.nodes)) maker.node();
  maker.outputs();
  if (options.loop) maker.loop_updates();
  return Program(std::move(g));
}

std::vector<std::vector<Tensor>> random_inputs(Random& random, const Program& program) {
  std::vector<std::vector<Tensor>> inputs(static_cast<std::size_t>(program.world->ranks()));
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    auto first = static_cast<std::size_t>(g.ranks().empty() ? 0 : g.ranks().front());
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      bool shared = in.state && first < r;
      inputs[r].push_back(shared ? inputs[first][i] : random_tensor(random, g.type(in.value), 2));
    }
  }
  return inputs;
}

}  // namespace hocket::testing
