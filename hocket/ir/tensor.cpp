#include "hocket/ir/tensor.h"

#include <cstring>
#include <new>

#include "hocket/base/error.h"

namespace hocket {

Tensor::Tensor(const Type& type) : type_(type), size_(static_cast<std::size_t>(type.bytes())) {
  constexpr std::align_val_t line{64};
  void* memory = ::operator new[](size_ > 0 ? size_ : 1, line, std::nothrow);
  if (memory == nullptr) fail("{}: cannot allocate {} bytes", to_text(type), size_);
  data_ = std::shared_ptr<std::byte[]>(static_cast<std::byte*>(memory),
                                       [](std::byte* p) { ::operator delete[](p, line); });
}

Tensor::Tensor(const Type& type, const Tensor& bytes)
    : type_(type), size_(bytes.size_), data_(bytes.data_) {
  if (static_cast<std::size_t>(type.bytes()) != size_)
    internal_fail("a view of {} as {}", to_text(bytes.type_), to_text(type));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.bytes().size() == b.bytes().size() &&
         (a.bytes().empty() ||
          std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

}  // namespace hocket
