#pragma once
// Tensors in a file, by name: the safetensors format.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "hocket/ir/tensor.h"

namespace hocket {

/// A file of tensors, memory-mapped and checked completely when opened: reading a tensor only
/// copies its bytes.
class Safetensors {
 public:
  Safetensors() = default;
  /// Error `PATH: what is wrong` for a file that is not valid.
  static Safetensors open(const std::string& path);
  /// From bytes in memory; `where` starts the messages.
  static Safetensors parse(std::string bytes, const std::string& where);

  /// Every tensor with its type, by name.
  const std::map<std::string, Type, std::less<>>& types() const;
  bool contains(std::string_view name) const { return types().contains(name); }
  /// Error naming the file when there is no such tensor.
  Tensor load(std::string_view name) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// The bytes of such a file, which depend only on names and tensors. The header lists them by name;
/// in the data wide elements come first, so that every tensor is aligned. Error for a name that is
/// not UTF-8 or is reserved.
std::string safetensors_bytes(const std::map<std::string, Tensor, std::less<>>& tensors);
/// Writes a file whole or not at all.
void write_safetensors(const std::string& path,
                       const std::map<std::string, Tensor, std::less<>>& tensors);

}  // namespace hocket
