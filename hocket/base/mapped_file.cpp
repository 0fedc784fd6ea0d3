#include "hocket/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hocket/base/error.h"

namespace hocket {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Without O_NONBLOCK a pipe without a writer would block here.
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) fail("{}: cannot be read: {}", path, std::strerror(errno));
  struct stat about {};
  if (fstat(file.number, &about) != 0) fail("{}: cannot be read: {}", path, std::strerror(errno));
  if (S_ISDIR(about.st_mode)) fail("{}: is a folder, wanted a file", path);
  if (!S_ISREG(about.st_mode)) fail("{}: is no regular file", path);
  if (about.st_size == 0) return;  // mmap refuses length 0
  auto size = static_cast<std::size_t>(about.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail("{}: cannot be mapped: {}", path, std::strerror(errno));
  data_ = static_cast<const char*>(data);
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace hocket
