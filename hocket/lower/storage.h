#pragma once
// The bytes of values before they have addresses.

#include <cstdint>
#include <vector>

namespace hocket {

using StorageNumber = std::uint32_t;

/// The number of no storage, region, instruction or transfer.
inline constexpr std::uint32_t nowhere = 0xffffffff;

/// A value in a storage: the bytes of its element 0, and its type and layout in the plan's tables.
struct Ref {
  StorageNumber storage = 0;
  std::int64_t offset = 0;
  std::uint32_t type = 0, layout = 0;
};

/// Pieces of memory that will each get an address, with the instructions that use them. A storage
/// may become a part of another one; then uses of either count for both.
class Storages {
 public:
  /// A part of another storage, or the whole.
  struct Part {
    StorageNumber whole;
    std::int64_t offset;
  };
  StorageNumber add(std::int64_t bytes, std::uint32_t region = nowhere);
  std::size_t size() const { return all_.size(); }
  /// The instruction uses the storage, or a transfer that it ends.
  void use(StorageNumber s, std::uint32_t instruction);

  Part find(StorageNumber s) const;
  bool is_whole(StorageNumber s) const { return all_[s].parent == nowhere; }
  /// Others have been placed in it.
  bool has_parts(StorageNumber s) const { return all_[s].has_parts; }
  std::int64_t bytes(StorageNumber s) const { return all_[s].bytes; }
  /// Of a whole storage: the first and the last instruction that uses it; first > last without
  /// uses.
  std::uint32_t first(StorageNumber s) const { return all_[s].first; }
  std::uint32_t last(StorageNumber s) const { return all_[s].last; }
  /// The last instruction that uses it under this number and not as a part of the whole.
  std::uint32_t own_last(StorageNumber s) const { return all_[s].own_last; }
  /// The persistent region that this is, or nowhere.
  std::uint32_t region(StorageNumber s) const { return all_[s].region; }

  /// Makes `part`, a whole storage, a part of `whole`, at the offset.
  void place(StorageNumber part, StorageNumber whole, std::int64_t offset);

 private:
  struct Storage {
    std::int64_t bytes;
    std::uint32_t region;
    std::uint32_t parent = nowhere;
    bool has_parts = false;
    std::int64_t offset = 0;
    std::uint32_t first = nowhere, last = 0, own_last = 0;
  };
  mutable std::vector<Storage> all_;  // find() shortens paths
};

}  // namespace hocket
