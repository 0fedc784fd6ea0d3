#pragma once
// The record of an op: everything that the compiler knows about it.

#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/collective.h"
#include "hocket/ir/attribute.h"
#include "hocket/ir/ids.h"
#include "hocket/ir/type.h"

namespace hocket {

class Graph;
class Layout;  // ops/layout.h
class Scalar;  // ops/scalar.h
class World;
struct KernelCall;    // ops/kernel.h
struct ExchangeCall;  // ops/kernel.h
struct ExpandCall;    // ops/expand.h
struct ViewOf;        // ops/layout.h
struct At;

/// A list of at most N elements, for constexpr records.
template <class T, std::size_t N>
class RecordList {
 public:
  constexpr RecordList() = default;
  constexpr RecordList(std::initializer_list<T> list) {
    for (const T& item : list) items_[size_++] = item;
  }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

enum class Count : std::uint8_t { one, optional, many };

struct OperandSpec {
  std::string_view name;
  Count count = Count::one;
  std::uint32_t at_least = 0;  ///< for `many`
};

/// The arguments of `infer`.
struct InferCall {
  const Op& op;
  std::span<const Type* const> inputs;
  const Attributes& attributes;
  const World& world;
  /// Types written for the results; empty when they are to be inferred. Only an op with
  /// `typed_by_result` may read them.
  std::span<const Type> written;
  const Graph* region;

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
};

struct Op {
  std::string_view name;
  std::string_view doc;
  RecordList<OperandSpec, 12> operands;
  RecordList<AttributeSpec, 12> attributes;

  /// Infers the result types; throws Error that says what was found and what was wanted.
  std::vector<Type> (*infer)(const InferCall&) = nullptr;
  /// The semantics of an elementwise op on one element. Called with symbolic scalars, to trace it.
  Scalar (*body)(std::span<const Scalar>) = nullptr;
  /// The reference kernel of an op that is neither elementwise, a view nor a collective.
  void (*kernel)(KernelCall&) = nullptr;
  /// For an op whose result shows elements of its first operand and computes nothing: which of the
  /// operand's bytes. None where that layout of the operand does not allow it without a copy; a
  /// row-major operand always does.
  std::optional<ViewOf> (*view)(const InferCall&, const Layout& operand) = nullptr;

  /// The semantics of a composite: builds it from smaller ops. A backend may have a faster kernel.
  std::vector<Value> (*expand)(ExpandCall&) = nullptr;
  /// The semantics of a collective: computes the results of all ranks of one set of its group.
  void (*exchange)(ExchangeCall&) = nullptr;

  /// For a collective: which rank sends what to which.
  const Collective* collective = nullptr;
  /// For a point-to-point op: the op that the other rank calls.
  const Op* partner = nullptr;

  bool is_collective = false;  ///< its results are pending until a wait (false for `barrier`)
  bool is_wait = false;        ///< reads pending values
  bool has_effect = false;     ///< never removed, merged or left out
  bool is_ordering = false;    ///< only orders nodes (`after`): an identity, never folded or merged
  bool typed_by_result = false;  ///< the result type is written, not inferred
  bool depends_on_rank = false;  ///< its value differs between ranks with equal operands
  bool has_region = false;       ///< carries a graph of its own (`call`)
  bool moves_data = false;       ///< only copies elements, whose bits are kept
  bool exactly_rounded = false;  ///< IEEE 754 or the op's definition determines every bit
  bool is_view = false;          ///< the result shares the bytes of its operand
  /// An optimizer: a list of operands holds one tensor per parameter, or none, the parameters first
  /// and their gradients second; the results are such lists one after the other. The tensors of one
  /// parameter do not affect those of another, so nodes can be split and joined anywhere along
  /// their lists.
  bool is_optimizer = false;
  /// Number of arithmetic operations of a node; `written` holds its result types. Without this
  /// function they are counted in the body or the expansion, otherwise there are none.
  double (*flops)(const InferCall&) = nullptr;
  /// Bytes that the kernel takes from KernelCall::scratch at most, `written` being its result
  /// types.
  std::int64_t (*scratch)(const InferCall&) = nullptr;
  // For a kernel; bodies and views take any layout.
  bool reads_any_layout = false;   ///< it takes operands in any layout that has DimAxes
  bool writes_any_layout = false;  ///< it writes results in any dense one that has DimAxes

  /// True when an equal node with equal operands gives the same value, so that the two can be
  /// merged.
  bool pure() const { return !has_effect && !is_ordering; }
  /// Index of an attribute in the record, or -1.
  int attribute_index(std::string_view attribute) const;
  /// True for an op with several slots of which one is a list. Operands are then written
  /// `op([%a, %b], %c)`.
  bool writes_lists() const;

  /// Builds a node at `at` and returns its first result, none when it has no result. A Graph as
  /// `at` means its end.
  Value operator()(At at, std::same_as<Value> auto... inputs) const;
  Value operator()(At at, std::span<const Value> inputs,
                   std::initializer_list<Named> attributes) const;
  Value operator()(At at, std::initializer_list<Value> inputs,
                   std::initializer_list<Named> attributes = {}) const;
};

/// The types of the results: those that the op infers, once the number of operands fits its record.
/// Throws Error when the op refuses, and when other types are written.
std::vector<Type> infer_types(const InferCall& call);

/// The only two ops that the IR itself uses: values enter a graph through inputs and leave it
/// through the return.
extern const Op input_op;
extern const Op return_op;

}  // namespace hocket
