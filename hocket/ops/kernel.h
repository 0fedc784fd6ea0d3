#pragma once
// The reference execution of ops: what a kernel gets, and a function that runs one.

#include <cstddef>
#include <span>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/tensor.h"
#include "hocket/ops/layout.h"

namespace hocket {

/// A value where it lies, not owned. `data` is the place of element 0.
template <class Byte>
struct BasicView {
  Type type;
  Layout layout;
  Byte* data = nullptr;

  template <class T>
  auto as() const {
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    return reinterpret_cast<Element*>(data);
  }
  /// Of a row-major value.
  std::span<Byte> bytes() const { return {data, static_cast<std::size_t>(type.bytes())}; }
};
using ConstView = BasicView<const std::byte>;
using View = BasicView<std::byte>;

/// A tensor, row-major.
ConstView view_of(const Tensor& tensor);
View view_of(Tensor& tensor);

/// The place of a rank in its group.
struct PlaceInGroup {
  std::int64_t index = 0, size = 1;
};

/// Of a rank in the group that the attribute `group` of an op that depends on the rank names. Error
/// when the rank is not in it; {0, 1} for other ops.
PlaceInGroup place_in_group(const Op& op, const Attributes& attributes, const World& world,
                            int rank);

/// Everything a kernel may look at. It writes every element of every result, and allocates nothing:
/// what it needs besides comes from `scratch`. Some result has elements.
struct KernelCall {
  const Op& op;
  const Attributes& attributes;
  // Row-major, unless the op reads (writes) any layout; then it has DimAxes.
  std::span<const ConstView> inputs;
  std::span<const View> results;
  PlaceInGroup place = {};         ///< of an op that depends on the rank
  std::span<std::byte> free = {};  ///< what scratch() hands out

  const View& out(std::size_t i = 0) const { return results[i]; }
  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
  /// Uninitialised, 64-byte aligned. The record's `scratch` says how many bytes there are in all.
  template <class T>
  std::span<T> scratch(std::int64_t count) {
    return {reinterpret_cast<T*>(scratch_bytes(count * std::int64_t{sizeof(T)})),
            static_cast<std::size_t>(count)};
  }

 private:
  std::byte* scratch_bytes(std::int64_t count);
};

/// A multiple of 64 that is not below.
constexpr std::int64_t rounded_to_line(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// All members of one collective at once, in the order of their set.
struct ExchangeCall {
  const Op& op;
  const Attributes& attributes;
  std::span<const std::vector<Tensor>> inputs;        ///< [member][operand]
  std::span<const std::vector<Type>> types;           ///< [member][result], as they arrive
  std::span<const Attributes* const> all_attributes;  ///< [member]; they differ in splits at most
  std::vector<std::vector<Tensor>> results;           ///< [member][result]

  template <class T>
  const T& attr(std::string_view name) const {
    return attribute<T>(op, attributes, name);
  }
};

/// Runs an op that is neither a composite, a collective, a wait nor a call, on row-major tensors. A
/// body may overwrite an operand that nobody else holds; the result of a view shares the bytes of
/// its operand where both are row-major.
std::vector<Tensor> run_reference(const Op& op, const Attributes& attributes,
                                  std::span<const Tensor> inputs, std::span<const Type> types,
                                  const World& world, int rank = 0);

}  // namespace hocket
