#pragma once
// The bytes of a file, mapped into memory.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

/// The bytes of a regular file, read-only, as long as this object lives. The file must not be
/// truncated meanwhile, which would unmap pages: files are replaced, never truncated.
class MappedFile {
 public:
  MappedFile() = default;
  /// Error naming the path when it cannot be read or is no regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& o) noexcept;
  MappedFile& operator=(MappedFile&& o) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hocket
