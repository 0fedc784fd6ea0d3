#pragma once
// A zip archive to be read, from whoever: stored or deflated entries, by name.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::frontend {

/// Opened means: every entry has a name of its own that stays within the archive, none is
/// encrypted, and all together are not much larger than the file. Not for several threads at once.
class Archive {
 public:
  struct Entry {
    std::string name;
    std::uint64_t size = 0;  ///< as the archive says
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
  /// The whole entry, its checksum verified. Error when there is none, or one beyond `limit` bytes.
  std::string read(std::string_view name, std::uint64_t limit) const;
  /// `model.pt2: model/byteorder`, for messages about the content of an entry.
  std::string place(std::string_view name) const;

 private:
  struct Data;
  explicit Archive(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace hocket::frontend
