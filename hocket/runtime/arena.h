#pragma once
// The memory of a rank: one mapping, in which all values have their places.

#include <cstddef>
#include <cstdint>

namespace hocket {

/// 2 MB aligned, in large pages where the system grants them. All bytes are painted with a pattern
/// when it is made, so that no step waits for the system to provide pages, and so that it can be
/// seen afterwards how much of it was used.
class Arena {
 public:
  /// Error, with the bytes, when they cannot be had.
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* at(std::int64_t offset) const { return begin_ + offset; }
  std::int64_t size() const { return size_; }
  /// The number of bytes up to the last one that no longer shows the pattern. O(bytes above it).
  std::int64_t highest_changed() const;

 private:
  std::byte* begin_ = nullptr;
  std::int64_t size_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace hocket
