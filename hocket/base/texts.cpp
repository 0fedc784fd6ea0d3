#include "hocket/base/texts.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace hocket {
namespace {

constexpr std::size_t first_block = 64, largest_block = 64 << 10;

std::uint32_t hash_of(std::string_view text) {
  std::size_t hash = std::hash<std::string_view>()(text);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

Texts::Texts(const Texts& o) : slots_(o.slots_), texts_(o.texts_), blocks_(o.blocks_) {}

Texts::Texts(Texts&& o) noexcept
    : slots_(std::exchange(o.slots_, {})),
      texts_(std::exchange(o.texts_, {})),
      blocks_(std::exchange(o.blocks_, {})),
      room_(std::exchange(o.room_, {})) {}

Texts& Texts::operator=(Texts o) noexcept {
  std::swap(slots_, o.slots_);
  std::swap(texts_, o.texts_);
  std::swap(blocks_, o.blocks_);
  std::swap(room_, o.room_);
  return *this;
}

std::size_t Texts::slot_of(std::string_view text, std::uint32_t hash) const {
  std::size_t mask = slots_.size() - 1, at = hash & mask;
  while (slots_[at].index != none && (slots_[at].hash != hash || texts_[slots_[at].index] != text))
    at = (at + 1) & mask;
  return at;
}

std::uint32_t Texts::find(std::string_view text) const {
  return slots_.empty() ? none : slots_[slot_of(text, hash_of(text))].index;
}

std::uint32_t Texts::add(std::string_view text) {
  if (texts_.size() >= slots_.size() / 4 * 3) grow();
  std::uint32_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.index != none) return slot.index;
  texts_.push_back(keep(text));
  slot = {hash, size() - 1};
  return slot.index;
}

void Texts::grow() {
  std::vector<Slot> old(std::max<std::size_t>(8, slots_.size() * 2));
  std::swap(slots_, old);
  std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.index == none) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].index != none) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::string_view Texts::keep(std::string_view text) {
  if (text.size() > room_.size()) {
    std::size_t size = first_block << std::min<std::size_t>(blocks_.size(), 10);
    size = std::max(text.size(), std::min(size, largest_block));
    blocks_.push_back(std::make_shared<char[]>(size));
    room_ = {blocks_.back().get(), size};
  }
  std::ranges::copy(text, room_.begin());
  std::string_view kept(room_.data(), text.size());
  room_ = room_.subspan(text.size());
  return kept;
}

}  // namespace hocket
