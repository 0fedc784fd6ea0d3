#pragma once
// Reads zip archives from untrusted sources: stored or deflated entries, by name.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::frontend {

/// Opening checks that every entry has a unique name that stays within the archive, that none is
/// encrypted, and that the unpacked size is within a limit. Not thread-safe.
class Archive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  ///< as given in the archive
  };

  /// Error `PATH: what is wrong`.
  static Archive open(const std::string& path);
  /// From bytes in memory; `where` starts the messages.
  static Archive parse(std::string bytes, std::string where);
  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) noexcept;
  ~Archive();

  /// In the order of the archive.
  const std::vector<Entry>& entries() const;
  bool contains(std::string_view name) const;
  /// The whole entry, checksum verified. Error when it is missing or larger than `limit` bytes.
  std::string read(std::string_view name, std::uint64_t limit) const;
  /// `model.pt2: model/byteorder`, for messages about the content of an entry.
  std::string place(std::string_view name) const;

 private:
  struct Data;
  explicit Archive(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace hocket::frontend
