#include "hocket/driver/digest.h"

#include <fmt/core.h>
#include <xxhash.h>

#include "hocket/base/error.h"

namespace hocket {

struct Digest::State {
  XXH3_state_t* hash = XXH3_createState();
  State() { XXH3_128bits_reset(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(hash); }
  void add(const void* bytes, std::size_t size) { XXH3_128bits_update(hash, bytes, size); }
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

Digest& Digest::add(std::string_view text) {
  auto size = static_cast<std::uint64_t>(text.size());
  state_->add(&size, sizeof size);
  state_->add(text.data(), text.size());
  return *this;
}

Digest& Digest::add(const Tensor& tensor) {
  add(to_text(tensor.type()));
  state_->add(tensor.bytes().data(), tensor.bytes().size());
  return *this;
}

std::string Digest::text() const {
  XXH128_hash_t h = XXH3_128bits_digest(state_->hash);
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

}  // namespace hocket
