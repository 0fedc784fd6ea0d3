// Sums of products over labelled dimensions: einsum, tensordot, bilinear, kron.

#include <algorithm>
#include <map>

#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend::nn {
namespace {

using Labels = std::vector<int>;

/// A tensor with a label for each dimension, each label once.
struct Labeled {
  Value value;
  Labels labels;
};

bool holds(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::size_t place(const Labels& labels, int label) {
  return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
}

std::int64_t size(const OperatorCall& c, const Labeled& t, int label) {
  return c.type(t.value).shape[place(t.labels, label)];
}

Labeled without(OperatorCall& c, const Labeled& t, const Labels& kept) {
  Ints gone;
  Labels left;
  for (std::size_t i = 0; i < t.labels.size(); ++i) {
    if (holds(kept, t.labels[i]))
      left.push_back(t.labels[i]);
    else
      gone.push_back(static_cast<std::int64_t>(i));
  }
  return gone.empty() ? t : Labeled{c.reduce(ops::sum, t.value, gone, false), left};
}

Value in_order(OperatorCall& c, const Labeled& t, const Labels& order) {
  Ints dims;
  for (int label : order) dims.push_back(static_cast<std::int64_t>(place(t.labels, label)));
  return c.permute(t.value, dims);
}

/// Broadcasts dimensions of size 1 to the size of the same label in the other tensor.
Labeled stretched(OperatorCall& c, const Labeled& t, const Labeled& other) {
  Shape shape = c.type(t.value).shape;
  for (std::size_t i = 0; i < t.labels.size(); ++i)
    if (shape[i] == 1 && holds(other.labels, t.labels[i])) shape[i] = size(c, other, t.labels[i]);
  return {c.broadcast(t.value, shape), t.labels};
}

/// Permuted to this order of labels, with dimensions of size 1 for missing labels.
Value aligned(OperatorCall& c, const Labeled& t, const Labels& order) {
  Labels own;
  Shape shape;
  for (int label : order) {
    bool has = holds(t.labels, label);
    if (has) own.push_back(label);
    shape.push_back(has ? size(c, t, label) : 1);
  }
  return c.reshape(in_order(c, t, own), shape);
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The product, summed over all labels not in `kept`.
Labeled contract(OperatorCall& c, Labeled a, Labeled b, const Labels& kept) {
  a = without(c, a, joined({kept, b.labels}));
  b = without(c, b, joined({kept, a.labels}));
  a = stretched(c, a, b);
  b = stretched(c, b, a);
  Labels stack, rows, columns, summed;
  for (int label : a.labels)
    (!holds(b.labels, label) ? rows : holds(kept, label) ? stack : summed).push_back(label);
  for (int label : b.labels)
    if (!holds(a.labels, label)) columns.push_back(label);
  Labels result = joined({stack, rows, columns});
  if (summed.empty())
    return {c.pointwise(ops::mul, {aligned(c, a, result), aligned(c, b, result)}), result};
  Shape shape;
  for (int label : result) shape.push_back(size(c, holds(a.labels, label) ? a : b, label));
  auto count = [&](const Labeled& t, const Labels& labels) {
    std::int64_t n = 1;
    for (int label : labels) n *= size(c, t, label);
    return n;
  };
  std::int64_t n = count(a, stack), k = count(a, summed);
  Value left = c.reshape(in_order(c, a, joined({stack, rows, summed})), {n, count(a, rows), k});
  Value right =
      c.reshape(in_order(c, b, joined({stack, summed, columns})), {n, k, count(b, columns)});
  return {c.reshape(c.build(ops::matmul, {left, right}), shape), result};
}

// ---- einsum

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

/// Labels of the dimensions that `...` stands for: this plus their number counted from the last.
constexpr int dots = 256;

Labels labels_of(const OperatorCall& c, std::string_view term, std::size_t dotted) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    bool letter = (term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z');
    if (letter) {
      if (holds(labels, term[i])) c.refuse("a label twice in one operand is not supported");
      labels.push_back(term[i]);
    } else if (term.substr(i, 3) == "...") {
      for (std::size_t d = dotted; d-- > 0;) labels.push_back(dots + static_cast<int>(d));
      i += 2;
    } else {
      c.refuse("an equation that cannot be read");
    }
  }
  return labels;
}

/// The result of an equation that names none: `...`, then the labels that occur once.
Labels implied_result(const std::vector<Labels>& operands, std::size_t dotted) {
  std::map<int, int> times;
  for (const Labels& labels : operands)
    for (int label : labels) ++times[label];
  Labels result;
  for (std::size_t d = dotted; d-- > 0;) result.push_back(dots + static_cast<int>(d));
  for (auto [label, n] : times)
    if (label < dots && n == 1) result.push_back(label);
  return result;
}

Equation equation(OperatorCall& c, const std::vector<Value>& tensors) {
  std::string text = c.text("equation");
  std::erase(text, ' ');
  std::size_t arrow = text.find("->"), widest = 0, start = 0;
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation e;
  for (Value v : tensors) {
    if (start > left.size()) c.refuse("fewer terms than operands");
    std::string_view term = left.substr(start, left.find(',', start) - start);
    start += term.size() + 1;
    std::size_t rank = c.type(v).shape.size(), letters = term.size();
    bool open = term.find('.') != term.npos;
    if (open) letters -= std::min<std::size_t>(3, letters);
    if (open ? rank < letters : rank != letters) c.refuse("a term that does not fit its operand");
    widest = std::max(widest, rank - letters);
    e.operands.push_back(labels_of(c, term, rank - letters));
  }
  if (start <= left.size()) c.refuse("more terms than operands");
  e.result = arrow == text.npos ? implied_result(e.operands, widest)
                                : labels_of(c, std::string_view(text).substr(arrow + 2), widest);
  return e;
}

/// From left to right; each product is summed over the labels that are not needed any more.
Returned einsum(OperatorCall& c) {
  std::vector<Value> tensors = c.values("tensors");
  if (tensors.empty()) c.refuse("no operands");
  Equation e = equation(c, tensors);
  Labeled y{tensors[0], e.operands[0]};
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    Labels kept = e.result;
    for (std::size_t k = i + 1; k < tensors.size(); ++k) kept = joined({kept, e.operands[k]});
    y = contract(c, y, {tensors[i], e.operands[i]}, kept);
  }
  y = without(c, y, e.result);
  if (y.labels.size() != e.result.size()) c.refuse("a result label that no operand has");
  return in_order(c, y, e.result);
}

// ---- relatives

Returned tensordot(OperatorCall& c) {
  Labeled a{c.value("self"), {}}, b{c.value("other"), {}};
  std::size_t left = c.type(a.value).shape.size(), right = c.type(b.value).shape.size();
  Ints mine = c.ints("dims_self"), theirs = c.ints("dims_other");
  if (mine.size() != theirs.size()) c.refuse("dims_self and dims_other differ in number");
  for (std::size_t i = 0; i < left + right; ++i)
    (i < left ? a : b).labels.push_back(static_cast<int>(i));
  Labels kept = joined({a.labels, b.labels});
  for (std::size_t i = 0; i < mine.size(); ++i) {
    auto from_end = [](std::int64_t d, std::size_t rank) {
      return static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(rank) : d);
    };
    std::size_t x = from_end(mine[i], left), y = from_end(theirs[i], right);
    if (x >= left || y >= right) c.refuse("a dimension that does not exist");
    b.labels[y] = a.labels[x];
    std::erase(kept, a.labels[x]);
  }
  return contract(c, a, b, kept).value;
}

Returned outer(OperatorCall& c) {
  return contract(c, {c.value("self"), {0}}, {c.value("vec2"), {1}}, {0, 1}).value;
}

/// x1 W x2 for every matrix of the weight.
Returned bilinear(OperatorCall& c) {
  Value x = c.value("input1"), y = c.value("input2"), w = c.value("weight");
  DType dtype = c.type(x).dtype;
  Labels lead;
  for (std::size_t i = 0; i + 1 < c.type(x).shape.size(); ++i) lead.push_back(static_cast<int>(i));
  constexpr int left = 101, right = 102, result = 103;
  Labels to = joined({lead, {result}});
  Labeled half = contract(c, {wide(c, x).value, joined({lead, {left}})},
                          {wide(c, w).value, {result, left, right}}, joined({to, {right}}));
  Expr all{&c, contract(c, half, {wide(c, y).value, joined({lead, {right}})}, to).value};
  if (c.has("bias")) all = all + wide(c, "bias");
  return c.cast(all.value, dtype);
}

/// Each element of the first times the whole second tensor.
Returned kron(OperatorCall& c) {
  Value a = c.value("self"), b = c.value("other");
  Shape left = c.type(a).shape, right = c.type(b).shape, wide_left, wide_right, shape;
  while (left.size() < right.size()) left.insert(left.begin(), 1);
  while (right.size() < left.size()) right.insert(right.begin(), 1);
  for (std::size_t i = 0; i < left.size(); ++i) {
    for (std::int64_t d : {left[i], std::int64_t{1}}) wide_left.push_back(d);
    for (std::int64_t d : {std::int64_t{1}, right[i]}) wide_right.push_back(d);
    shape.push_back(left[i] * right[i]);
  }
  return c.reshape(c.pointwise(ops::mul, {c.reshape(a, wide_left), c.reshape(b, wide_right)}),
                   shape);
}

constexpr Row contraction_table[] = {
    {"aten.einsum.default", "equation tensors path", einsum},
    {"aten.tensordot.default", "self other dims_self dims_other", tensordot},
    {"aten.outer.default", "self vec2", outer},
    {"aten.ger.default", "self vec2", outer},
    {"aten.bilinear.default", "input1 input2 weight bias", bilinear},
    {"aten.kron.default", "self other", kron},
};

}  // namespace

std::span<const Row> contraction_rows() { return contraction_table; }

}  // namespace hocket::frontend::nn
