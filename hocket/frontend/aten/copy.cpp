// Operators that copy elements: concatenation, repetition, pads, triangles.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/frontend/aten/nn.h"
#include "hocket/frontend/aten/operators.h"
#include "hocket/frontend/aten/shape.h"

namespace hocket::frontend {
namespace {

Returned copy_of_self(OperatorCall& c) { return c.value("self"); }

Returned joined(OperatorCall& c, std::vector<Value> all, std::int64_t d) {
  std::vector<Operand> operands(all.begin(), all.end());
  DType dtype = c.promoted(operands);
  for (Value& v : all) v = c.cast(v, dtype);
  return all.size() == 1 ? all[0] : ops::concat(c.at(), all, {{"dim", d}});
}

std::vector<Value> some_tensors(OperatorCall& c) {
  std::vector<Value> all = c.values("tensors");
  if (all.empty()) c.refuse("joins nothing");
  return all;
}

Returned cat(OperatorCall& c) {
  std::vector<Value> all = some_tensors(c);
  // Empty tensors of rank 1 are left out, as the source does.
  auto is_nothing = [&](Value v) { return c.type(v).shape == Shape{0}; };
  std::vector<Operand> operands(all.begin(), all.end());
  DType dtype = c.promoted(operands);
  if (!std::ranges::all_of(all, is_nothing)) std::erase_if(all, is_nothing);
  for (Value& v : all) v = c.cast(v, dtype);
  std::int64_t d = c.dim("dim", c.type(all[0]).shape.size(), 0);
  return joined(c, all, d);
}

Returned stack(OperatorCall& c) {
  std::vector<Value> all = some_tensors(c);
  std::int64_t d = c.dim("dim", c.type(all[0]).shape.size() + 1, 0);
  for (Value& v : all) {
    Shape shape = c.type(v).shape;
    if (d > std::ssize(shape)) c.refuse("the tensors have different ranks");
    shape.insert(shape.begin() + d, 1);
    v = c.reshape(v, shape);
  }
  return joined(c, all, d);
}

/// Concatenates along dimension 1, or vectors along their only one.
Returned hstack(OperatorCall& c) {
  std::vector<Value> all = some_tensors(c);
  for (Value& v : all)
    if (c.type(v).shape.empty()) v = c.reshape(v, {1});
  return joined(c, all, c.type(all[0]).shape.size() == 1 ? 0 : 1);
}

/// Concatenates along dimension 0; a vector becomes a row.
Returned vstack(OperatorCall& c) {
  std::vector<Value> all = some_tensors(c);
  for (Value& v : all)
    if (c.type(v).shape.size() < 2) v = c.reshape(v, {1, c.type(v).elements()});
  return joined(c, all, 0);
}

Returned repeat(OperatorCall& c) {
  Value x = c.value("self");
  Ints times = c.ints(c.row().arguments == "self repeats" ? "repeats" : "dims");
  Shape shape = c.type(x).shape;
  while (times.size() < shape.size()) times.insert(times.begin(), 1);  // `tile` may give fewer
  while (shape.size() < times.size()) shape.insert(shape.begin(), 1);
  Shape apart, wide, all;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0) c.refuse("repeats less than never");
    apart.push_back(1);
    apart.push_back(shape[i]);
    wide.push_back(times[i]);
    wide.push_back(shape[i]);
    all.push_back(times[i] * shape[i]);
  }
  return c.reshape(c.broadcast(c.reshape(x, apart), wide), all);
}

Returned repeat_interleave(OperatorCall& c) {
  Value x = c.value("self");
  std::int64_t times = c.integer("repeats");
  if (times < 0) c.refuse("repeats less than never");
  if (!c.has("dim")) x = c.reshape(x, {c.type(x).elements()});
  const Shape shape = c.type(x).shape;
  std::int64_t d = c.dim("dim", shape.size(), 0);
  Shape apart = shape, all = shape;
  apart.insert(apart.begin() + d + 1, 1);
  Shape wide = apart;
  wide[static_cast<std::size_t>(d + 1)] = times;
  all[static_cast<std::size_t>(d)] *= times;
  return c.reshape(c.broadcast(c.reshape(x, apart), wide), all);
}

Returned flip(OperatorCall& c) {
  Value x = c.value("self");
  if (c.ints("dims").empty() || c.type(x).shape.empty()) return x;
  return c.build(ops::flip, {x}, {{"dims", c.dims("dims", c.type(x).shape.size())}});
}

/// Rotates by quarter turns from the first of two dimensions towards the second.
Returned rot90(OperatorCall& c) {
  Value x = c.value("self");
  std::size_t rank = c.type(x).shape.size();
  Ints dims = c.has("dims") ? c.ints("dims") : Ints{0, 1};
  for (std::int64_t& d : dims)
    if (d < 0) d += static_cast<std::int64_t>(rank);
  auto is_wrong = [&](std::int64_t d) { return d < 0 || d >= static_cast<std::int64_t>(rank); };
  if (dims.size() != 2 || dims[0] == dims[1] || std::ranges::any_of(dims, is_wrong))
    c.refuse("wants two different dimensions");
  std::int64_t turns = (c.integer("k", 1) % 4 + 4) % 4;
  if (turns == 0) return x;
  Ints turned = turns == 2 ? dims : Ints{turns == 1 ? dims[1] : dims[0]}, order = in_order(rank);
  std::ranges::sort(turned);
  x = c.build(ops::flip, {x}, {{"dims", turned}});
  if (turns == 2) return x;
  std::swap(order[static_cast<std::size_t>(dims[0])], order[static_cast<std::size_t>(dims[1])]);
  return c.permute(x, order);
}

Returned roll(OperatorCall& c) {
  Value x = c.value("self");
  const Shape shape = c.type(x).shape;
  Ints shifts = c.ints("shifts"), dims = c.ints("dims");
  if (dims.empty()) {
    x = c.reshape(x, {c.type(x).elements()});
    dims = {0};
  }
  if (dims.size() != shifts.size()) c.refuse("shifts and dims differ in number");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto rank = static_cast<std::int64_t>(c.type(x).shape.size());
    std::int64_t d = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (d < 0 || d >= rank) c.refuse("dimension out of range");
    std::int64_t size = c.type(x).shape[static_cast<std::size_t>(d)];
    if (size == 0) continue;
    std::int64_t shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    Value last = c.slice(x, d, size - shift, size), first = c.slice(x, d, 0, size - shift);
    x = c.build(ops::concat, {last, first}, {{"dim", d}});
  }
  return c.reshape(x, shape);
}

Returned constant_pad(OperatorCall& c) {
  Value x = c.value("self");
  const Type& type = c.type(x);
  Ints pads = c.ints("pad");
  std::size_t rank = type.shape.size();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) c.refuse("pad does not fit the tensor");
  Ints low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {  // the last dimension comes first
    low[rank - 1 - i] = pads[2 * i];
    high[rank - 1 - i] = pads[2 * i + 1];
  }
  if (std::ranges::all_of(pads, [](std::int64_t p) { return p == 0; })) return x;
  Value value = c.scalar(type.dtype, c.number("value", Number(std::int64_t{0})));
  return c.build(ops::pad, {x, value}, {{"low", low}, {"high", high}});
}

Returned pad(OperatorCall& c) {
  if (std::string mode = c.text("mode", "constant"); mode != "constant")
    return nn::padded_from_itself(c, mode);
  return constant_pad(c);
}

/// Keeps a triangle of the last two dimensions; the table row has the op that compares column - row
/// with the diagonal.
Returned triangle(OperatorCall& c) {
  Value x = c.value("self");
  const Type type = c.type(x);
  auto rank = std::ssize(type.shape);
  if (rank < 2) c.refuse("wants at least two dimensions");
  Type plane{
      DType::i64, false, {type.shape[type.shape.size() - 2], type.shape[type.shape.size() - 1]}};
  Value distance = c.build(ops::sub, {c.iota(plane, 1), c.iota(plane, 0)});
  Value kept = c.build(*c.row().op, {distance, c.scalar(DType::i64, c.integer("diagonal", 0))});
  kept = c.broadcast(kept, type.shape);
  return c.build(ops::select, {kept, x, c.scalar(type.dtype, std::int64_t{0})});
}

constexpr Row copy_table[] = {
    {"aten.clone.default", "self memory_format", copy_of_self},
    {"aten.lift_fresh_copy.default", "self", copy_of_self},
    {"aten.cat.default", "tensors dim", cat},
    {"aten.concat.default", "tensors dim", cat},
    {"aten.stack.default", "tensors dim", stack},
    {"aten.hstack.default", "tensors", hstack},
    {"aten.vstack.default", "tensors", vstack},
    {"aten.repeat.default", "self repeats", repeat},
    {"aten.tile.default", "self dims", repeat},
    {"aten.repeat_interleave.self_int", "self repeats dim output_size", repeat_interleave},
    {"aten.flip.default", "self dims", flip},
    {"aten.rot90.default", "self k dims", rot90},
    {"aten.roll.default", "self shifts dims", roll},
    {"aten.constant_pad_nd.default", "self pad value", constant_pad},
    {"aten.pad.default", "self pad mode value", pad},
    {"aten.tril.default", "self diagonal", triangle, &ops::le},
    {"aten.triu.default", "self diagonal", triangle, &ops::ge},
};

}  // namespace

std::span<const Row> copy_rows() { return copy_table; }

}  // namespace hocket::frontend
