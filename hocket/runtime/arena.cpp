#include "hocket/runtime/arena.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "hocket/base/error.h"

namespace hocket {
namespace {

constexpr std::int64_t page = 2 << 20;                    // of the large pages
constexpr std::int64_t too_many = std::int64_t{1} << 60;  // bytes: no sum overflows

constexpr std::int64_t word = sizeof(std::uint64_t);

/// What the word with this number is painted with: hardly what a step writes there.
std::uint64_t paint(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15;
}

/// The same in memory: its first bytes, where the arena ends inside a word.
std::byte paint_byte(std::int64_t offset) {
  std::uint64_t painted = paint(offset / word);
  std::byte bytes[word];
  std::memcpy(bytes, &painted, sizeof painted);
  return bytes[offset % word];
}

}  // namespace

Arena::Arena(std::int64_t bytes) : size_(bytes) {
  if (bytes < 0) internal_fail("an arena of {} bytes", bytes);
  // One page more than needed, so that a multiple of the page size lies inside.
  std::int64_t whole = bytes > too_many ? too_many : (bytes + page - 1) / page * page + page;
  mapped_ = static_cast<std::size_t>(whole);
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail("memory of a rank: {} bytes cannot be had: {}", bytes, std::strerror(errno));
  }
  void* aligned = mapping_;
  std::size_t left = mapped_;
  begin_ =
      static_cast<std::byte*>(std::align(page, static_cast<std::size_t>(bytes), aligned, left));
  (void)madvise(begin_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // works without
  auto* words = reinterpret_cast<std::uint64_t*>(begin_);
  std::int64_t count = (bytes + word - 1) / word;
  for (std::int64_t i = 0; i < count; ++i) words[i] = paint(i);
}

Arena::~Arena() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

std::int64_t Arena::highest_changed() const {
  std::int64_t end = size_;
  const auto* words = reinterpret_cast<const std::uint64_t*>(begin_);
  while (end > 0 && end % word != 0 && *at(end - 1) == paint_byte(end - 1)) --end;
  if (end % word != 0) return end;
  while (end > 0 && words[end / word - 1] == paint(end / word - 1)) end -= word;
  while (end > 0 && *at(end - 1) == paint_byte(end - 1)) --end;
  return end;
}

}  // namespace hocket
