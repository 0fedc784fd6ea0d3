#pragma once
// A hash of the bits of results.

#include <memory>
#include <string>

#include "hocket/ir/tensor.h"

namespace hocket {

/// xxh3-128 of all that is added, in order.
class Digest {
 public:
  Digest();
  ~Digest();
  /// dtype, shape and elements in row-major order.
  Digest& add(const Tensor& tensor);
  Digest& add(std::string_view text);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hocket
