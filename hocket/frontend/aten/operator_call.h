#pragma once
// One operator call of the source and the means to translate it: arguments by name, and functions
// that build values.

#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hocket/frontend/source.h"
#include "hocket/frontend/storage.h"
#include "hocket/ops/ops.h"

namespace hocket::frontend {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The value of a source node: nothing, a tensor, or a list of values.
struct SourceValue {
  std::optional<TensorId> tensor;
  std::vector<SourceValue> list;
};

/// The result of a translation: a new value, several (empty where the source has none), or existing
/// tensors.
using Returned = std::variant<Value, std::vector<Value>, SourceValue>;

/// A Python number. It does not affect type promotion within its kind (bool, integer, float), and
/// is not rounded before use.
using Number = std::variant<bool, std::int64_t, double>;
double as_double(const Number& n);

/// An argument that may be a tensor or a number.
struct Operand {
  Value value;  ///< none: the operand is `number`
  Number number = false;
  Operand(Value v) : value(v) {}                            // NOLINT(google-explicit-constructor)
  Operand(Number n) : number(n) {}                          // NOLINT(google-explicit-constructor)
  Operand(double n) : number(n) {}                          // NOLINT(google-explicit-constructor)
  Operand(std::int64_t n) : number(n) {}                    // NOLINT(google-explicit-constructor)
  Operand(int n) : number(static_cast<std::int64_t>(n)) {}  // NOLINT(google-explicit-constructor)
};

/// The largest size or stride allowed in a source, so that arithmetic with them does not overflow.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;

class OperatorCall;

/// A row of the table: an operator of the source and its translation.
struct Row {
  std::string_view target;
  /// Names of the arguments in order, as the source declares them, separated by spaces.
  std::string_view arguments;
  Returned (*translate)(OperatorCall&) = nullptr;
  const Op* op = nullptr;  ///< the op, for a translation function shared by several rows
  /// Why there is no translation.
  std::string_view refusal = {};
};

/// The state of a translation between calls.
struct Translation {
  const Source& source;
  Graph& graph;
  std::map<std::string, hocket::Tensor, std::less<>>& constants;
  Storages storages;
  std::vector<SourceValue> values;                 ///< by source node
  std::unordered_map<std::string, Value> numbers;  ///< rank-0 constants made so far
  std::vector<Remark> remarks;
  int stage = 0;

  /// The process group of all collectives in the source; empty if there are several.
  std::string sole_group;

  Translation(const Source& s, Graph& g, std::map<std::string, hocket::Tensor, std::less<>>& c);
};

class OperatorCall {
 public:
  OperatorCall(Translation& translation, const SourceNode& node, const Row& row);

  const Row& row() const { return row_; }
  const SourceNode& node() const { return node_; }
  Translation& translation() { return translation_; }
  Graph& graph() { return translation_.graph; }
  /// The place for new nodes of this call. Limits their number, because a malicious file could ask
  /// for any number.
  At at() const {
    if (++built_ > max_nodes_per_call) refuse("needs too many nodes");
    return {translation_.graph, translation_.graph.return_node(), node_.path};
  }

  // ---- arguments, by the names of the row
  /// Null when the argument was left out or is None.
  const Argument* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  TensorId tensor(std::string_view name);
  std::vector<TensorId> tensors(std::string_view name);
  /// An item of a list argument.
  TensorId tensor_of(const Argument& a, std::string_view name);
  /// True for a list of tensors and for a node whose value is one.
  bool is_tensor_list(const Argument& a) const;
  /// The current value of a tensor.
  Value value(std::string_view name) { return read(tensor(name)); }
  std::vector<Value> values(std::string_view name);
  Operand operand(std::string_view name);
  const Type& type(std::string_view name) { return type(tensor(name)); }
  Number number(std::string_view name, std::optional<Number> missing = {}) const;
  double real(std::string_view name, std::optional<double> missing = {}) const;
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  /// A position along a dimension as in Python, clamped to a limit far beyond the end.
  std::int64_t position(std::string_view name, std::int64_t missing) const;
  bool flag(std::string_view name, std::optional<bool> missing = {}) const;
  std::string text(std::string_view name, std::optional<std::string> missing = {}) const;
  DType dtype(std::string_view name, DType missing) const;
  /// A list of ints, or one int as a list; empty when left out.
  Ints ints(std::string_view name) const;
  std::vector<Number> numbers(std::string_view name) const;
  std::vector<bool> flags(std::string_view name) const;
  /// A dimension, counted from 0; negative ones in the source count from the end.
  std::int64_t dim(std::string_view name, std::size_t rank,
                   std::optional<std::int64_t> missing = {}) const;
  /// The same, for operators that treat a tensor of rank 0 as one of rank 1.
  std::int64_t dim_or_first(std::string_view name, std::size_t rank,
                            std::optional<std::int64_t> missing = {}) const;
  /// Dimensions, ascending; all of them when left out or empty.
  Ints dims(std::string_view name, std::size_t rank) const;

  // ---- tensors of the source
  Value read(TensorId t) { return translation_.storages.read(at(), t); }
  const Type& type(TensorId t) const { return translation_.storages.type(t); }
  const Ints& strides(TensorId t) const { return translation_.storages.strides(t); }
  void write(TensorId t, Value v) { translation_.storages.write(at(), t, v); }
  SourceValue alias(TensorId t) const { return {t, {}}; }
  SourceValue fresh(Value v) { return {translation_.storages.fresh(v), {}}; }
  SourceValue view(TensorId of, const Op& op, std::initializer_list<Named> attributes);
  /// A view of another shape that shares the storage; `of` itself if the shape is equal.
  SourceValue reshape_view(TensorId of, const Shape& shape);

  // ---- values
  const Type& type(Value v) const { return translation_.graph.type(v); }
  Value build(const Op& op, std::initializer_list<Value> inputs,
              std::initializer_list<Named> attributes = {});
  std::vector<Value> build_all(const Op& op, std::span<const Value> inputs,
                               std::initializer_list<Named> attributes = {});
  /// Builds a node of an op whose operands are lists: one list per slot.
  std::vector<Value> build_lists(const Op& op, std::initializer_list<std::vector<Value>> slots,
                                 std::initializer_list<Named> attributes = {});
  /// A rank-0 constant; equal constants share one node.
  Value scalar(DType dtype, const Number& n);
  Value filled(const Type& type, const Number& n);
  /// A constant with these values.
  Value constant(const hocket::Tensor& tensor);
  /// The index of each element along one dimension.
  Value iota(const Type& type, std::int64_t dim);
  Value cast(Value v, DType dtype);
  Value reshape(Value v, const Shape& shape);
  Value permute(Value v, const Ints& dims);
  Value broadcast(Value v, const Shape& shape);
  Value slice(Value v, std::int64_t dim, std::int64_t start, std::int64_t stop,
              std::int64_t step = 1);
  Value reduce(const Op& op, Value v, const Ints& dims, bool keep);
  /// An elementwise node with PyTorch's type promotion and broadcasting. With `to_float`, and in
  /// float_pointwise, integers are first converted to the default float. In 16-bit products and
  /// quotients, a number as second operand is not rounded first.
  Value pointwise(const Op& op, std::initializer_list<Operand> operands) {
    return pointwise(op, std::span(operands.begin(), operands.size()), false);
  }
  Value float_pointwise(const Op& op, std::initializer_list<Operand> operands) {
    return pointwise(op, std::span(operands.begin(), operands.size()), true);
  }
  Value pointwise(const Op& op, std::span<const Operand> operands, bool to_float);
  /// The dtype of the source's type promotion.
  DType promoted(std::span<const Operand> operands) const;
  DType promoted(std::initializer_list<Operand> operands) const {
    return promoted(std::span(operands.begin(), operands.size()));
  }
  /// The operand cast to this dtype; a number becomes a constant.
  Value plain(const Operand& o, DType dtype) {
    return o.value ? cast(o.value, dtype) : scalar(dtype, o.number);
  }
  /// The common shape of two shapes under broadcasting.
  Shape joined(const Shape& a, const Shape& b) const;
  /// The common shape of all values under broadcasting.
  Shape common_shape(std::span<const Value> values) const;
  Shape common_shape(std::initializer_list<Value> values) const {
    return common_shape(std::span(values.begin(), values.size()));
  }
  /// Broadcasts v for an elementwise op of this shape; rank 0 stays.
  Value spread(Value v, const Shape& shape) {
    return type(v).shape.empty() ? v : broadcast(v, shape);
  }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  static constexpr std::int64_t max_nodes_per_call = 1 << 17;
  std::int64_t sane(std::string_view name, std::int64_t v) const;
  void require_value(Value v) const;
  SourceValue resolve(const Argument& a, std::string_view name) const;
  const Argument& required(std::string_view name) const;
  [[noreturn]] void wrong(std::string_view name, std::string_view wanted) const;

  Translation& translation_;
  const SourceNode& node_;
  const Row& row_;
  std::vector<std::pair<std::string_view, const Argument*>> arguments_;
  mutable std::int64_t built_ = 0;
};

/// The result dtype of a binary operation on tensors of these dtypes, neither of rank 0.
DType promote(DType a, DType b);

}  // namespace hocket::frontend
