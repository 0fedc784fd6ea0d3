#include "hocket/base/texts.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace hocket {
namespace {

constexpr std::size_t smallest_block = 64, largest_block = 64 << 10;

std::uint32_t hash_of(std::string_view text) {
  std::size_t hash = std::hash<std::string_view>()(text);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

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
  if (text.size() > room_->free.size()) {
    std::size_t size =
        std::max(text.size(), std::clamp(room_->taken, smallest_block, largest_block));
    blocks_.push_back(std::make_shared_for_overwrite<char[]>(size));
    room_->free = {blocks_.back().get(), size};
  }
  std::ranges::copy(text, room_->free.begin());
  std::string_view kept(room_->free.data(), text.size());
  room_->free = room_->free.subspan(text.size());
  room_->taken += text.size();
  return kept;
}

}  // namespace hocket
