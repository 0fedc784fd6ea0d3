// Losses against classes: negative log likelihood and cross entropy.

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

using enum Reduction;

/// Scores [n, classes, ...] and their classes [n, ...]; a single sample is a batch of one.
struct Classes {
  Expr x;
  Expr target;  // i64
  bool single = false;
};

Classes classes(OperatorCall& c, std::string_view scores) {
  Value x = c.value(scores), target = c.cast(c.value("target"), DType::i64);
  const Shape shape = c.type(x).shape;
  if (shape.empty()) c.refuse("scores have no dimension");
  bool single = shape.size() == 1;
  if (single) {
    x = c.reshape(x, {1, shape[0]});
    target = c.reshape(target, {1});
  }
  return {wide(c, x), {&c, target}, single};
}

/// [n, ...] as [n, 1, ...].
Expr beside_classes(const Expr& v) {
  Shape shape = v.call->type(v.value).shape;
  shape.insert(shape.begin() + 1, 1);
  return {v.call, v.call->reshape(v.value, shape)};
}

/// For each sample: whether it counts, a class in range, and the weight of that class.
struct Samples {
  Expr counts, safe;
  Term weight = 1.0;
};

Samples samples(OperatorCall& c, const Classes& k) {
  Expr counts = apply(ops::ne, k.target, Number{c.integer("ignore_index", -100)});
  Expr safe = select(counts, k.target, Number{std::int64_t{0}});
  if (!c.has("weight")) return {counts, safe};
  const Shape shape = c.type(safe.value).shape;
  Value flat = c.reshape(safe.value, {c.type(safe.value).elements()});
  Value w = c.build(ops::gather, {wide(c, "weight").value, flat}, {{"dim", std::int64_t{0}}});
  return {counts, safe, Expr{&c, c.reshape(w, shape)}};
}

struct Loss {
  Expr each, weights;  // zero where a sample does not count
};

Loss loss(OperatorCall& c, const Classes& k) {
  Samples s = samples(c, k);
  Value picked =
      c.build(ops::gather, {k.x.value, beside_classes(s.safe).value}, {{"dim", std::int64_t{1}}});
  Expr score{&c, c.reshape(picked, c.type(s.safe.value).shape)};
  DType dtype = c.type(score.value).dtype;
  Expr weights =
      select(s.counts, s.weight.call != nullptr ? s.weight : Expr{&c, c.scalar(dtype, 1.0)}, 0.0);
  return {select(s.counts, -(score * s.weight), 0.0), weights};
}

Expr total(const Expr& v) {
  return reduce(ops::sum, v, all_dims(v.call->type(v.value).shape.size()), false);
}

/// Applies the reduction; a single sample always gives rank 0.
Expr reduced(const Loss& l, Reduction how, bool single) {
  if (how == none && !single) return l.each;
  Expr all = total(l.each);
  return how == mean ? all / total(l.weights) : all;
}

std::vector<Value> nll(OperatorCall& c) {
  Classes k = classes(c, "self");
  Loss l = loss(c, k);
  Reduction how = reduction(c);
  DType dtype = c.type("self").dtype;
  Value y = c.cast(reduced(l, how, k.single).value, dtype);
  // Without a reduction the source's sum of weights is zero.
  bool weighed = how != none || k.single;
  Value weights = weighed ? total(l.weights).value : c.scalar(wide_dtype(dtype), 0.0);
  return {y, as_result(c, weights, 1, dtype)};
}

Returned nll_loss(OperatorCall& c) { return nll(c)[0]; }
Returned nll_loss_forward(OperatorCall& c) { return nll(c); }

Returned nll_loss_backward(OperatorCall& c) {
  Classes k = classes(c, "self");
  Samples s = samples(c, k);
  Expr g = wide(c, "grad_output");
  if (reduction(c) == mean) g = g / wide(c, "total_weight");
  const Shape rows = c.type(s.safe.value).shape, shape = c.type(k.x.value).shape;
  if (!c.type(g.value).shape.empty()) g.value = c.reshape(g.value, rows);
  Expr share = select(s.counts, -(g * s.weight), 0.0);
  Expr number{&c, c.iota({DType::i64, false, shape}, 1)};
  Expr hit = apply(ops::eq, number, beside_classes(s.safe));
  Value dx = select(hit, beside_classes(share), 0.0).value;
  return c.cast(c.reshape(dx, c.type("self").shape), c.type("self").dtype);
}

// ---- cross entropy

/// Without weights: the `cross_entropy` op on rows of classes.
Value plain_cross_entropy(OperatorCall& c) {
  Value x = c.value("self"), target = c.cast(c.value("target"), DType::i64);
  const Shape shape = c.type(x).shape, rows = c.type(target).shape;
  std::size_t rank = shape.size();
  if (rank > 2) {
    Ints classes_last = dims_but(rank, 1);
    classes_last.push_back(1);
    x = c.permute(x, classes_last);
  }
  std::int64_t n = c.type(target).elements();
  constexpr std::string_view names[] = {"none", "mean", "sum"};
  Value y = c.build(ops::cross_entropy,
                    {c.reshape(x, {n, rank == 1 ? shape[0] : shape[1]}), c.reshape(target, {n})},
                    {{"reduce", std::string(names[static_cast<std::size_t>(reduction(c))])},
                     {"ignore", c.integer("ignore_index", -100)}});
  return reduction(c) == none ? c.reshape(y, rows) : y;
}

Expr log_softmax(Expr x) {
  return {x.call, x.call->build(ops::log_softmax, {x.value}, {{"dim", std::int64_t{1}}})};
}

/// The scores times the class weights, if there are weights.
Expr with_class_weight(OperatorCall& c, const Expr& x) {
  if (!c.has("weight")) return x;
  return x * wide(c, by_channel(c, c.value("weight"), c.type(x.value).shape.size()));
}

/// Spreads a part of every target evenly over the classes.
Value smoothed_cross_entropy(OperatorCall& c, double smoothing) {
  Classes k = classes(c, "self");
  k.x = log_softmax(k.x);
  Loss hard = loss(c, k);
  Reduction how = reduction(c);
  Expr even = -reduce(ops::sum, with_class_weight(c, k.x), {1}, false);
  Loss soft{select(samples(c, k).counts, even, 0.0), hard.weights};
  double each = smoothing / static_cast<double>(c.type(k.x.value).shape[1]);
  Expr y = reduced(hard, how, k.single) * (1 - smoothing) + reduced(soft, how, k.single) * each;
  return y.value;
}

/// The target is a probability for every class.
Value soft_cross_entropy(OperatorCall& c, double smoothing) {
  Expr x = wide(c, "self"), target = wide(c, "target");
  bool single = c.type(x.value).shape.size() == 1;
  std::int64_t count = c.type(x.value).shape[single ? 0 : 1];
  if (single) {
    x.value = c.reshape(x.value, {1, count});
    target.value = c.reshape(target.value, {1, count});
  }
  if (smoothing > 0) target = target * (1 - smoothing) + smoothing / static_cast<double>(count);
  Expr each = -reduce(ops::sum, with_class_weight(c, log_softmax(x)) * target, {1}, false);
  Reduction how = reduction(c);
  if (how == none) return single ? c.reshape(each.value, {}) : each.value;
  Expr all = total(each);
  double rows = static_cast<double>(c.type(each.value).elements());
  return (how == mean ? all / rows : all).value;
}

Returned cross_entropy_loss(OperatorCall& c) {
  double smoothing = c.real("label_smoothing", 0);
  Value y;
  if (c.type("self").shape == c.type("target").shape)
    y = soft_cross_entropy(c, smoothing);
  else if (smoothing > 0)
    y = smoothed_cross_entropy(c, smoothing);
  else if (!c.has("weight"))
    y = plain_cross_entropy(c);
  else {
    Classes k = classes(c, "self");
    k.x = log_softmax(k.x);
    y = reduced(loss(c, k), reduction(c), k.single).value;
  }
  return c.cast(y, c.type("self").dtype);
}

constexpr std::string_view nll_arguments = "self target weight reduction ignore_index";
constexpr std::string_view nll_backward_arguments =
    "grad_output self target weight reduction ignore_index total_weight";

constexpr Row class_loss_table[] = {
    {"aten.nll_loss.default", nll_arguments, nll_loss},
    {"aten.nll_loss2d.default", nll_arguments, nll_loss},
    {"aten.nll_loss_nd.default", nll_arguments, nll_loss},
    {"aten.nll_loss_forward.default", nll_arguments, nll_loss_forward},
    {"aten.nll_loss2d_forward.default", nll_arguments, nll_loss_forward},
    {"aten.nll_loss_backward.default", nll_backward_arguments, nll_loss_backward},
    {"aten.nll_loss2d_backward.default", nll_backward_arguments, nll_loss_backward},
    {"aten.cross_entropy_loss.default", "self target weight reduction ignore_index label_smoothing",
     cross_entropy_loss},
};

}  // namespace

std::span<const Row> class_loss_rows() { return class_loss_table; }

}  // namespace hocket::frontend::nn
