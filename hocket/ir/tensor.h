#pragma once
// A value at run time: a type and its bytes, row-major. Copies share the bytes, which are not
// changed once they are shared.

#include <cstddef>
#include <memory>
#include <span>

#include "hocket/ir/type.h"

namespace hocket {

class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised bytes, 64-byte aligned. Throws Error when the allocation fails.
  explicit Tensor(const Type& type);
  /// The same bytes under another type of the same size, without a copy: for views.
  Tensor(const Type& type, const Tensor& bytes);

  const Type& type() const { return type_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  explicit operator bool() const { return data_ != nullptr; }
  /// True if no other tensor shares these bytes.
  bool unique() const { return data_.use_count() == 1; }

 private:
  Type type_;
  std::size_t size_ = 0;
  std::shared_ptr<std::byte[]> data_;
};

/// Equal types and equal bytes; NaNs with other bits differ.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace hocket
