#include "hocket/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "hocket/base/error.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::string why() { return errno != 0 ? std::strerror(errno) : "unknown reason"; }

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// The file that a path leads to once links are followed, or the path as it is when that cannot be
/// replaced by another file.
struct Target {
  fs::path path;
  bool special = false;  ///< a device, a pipe, or an open file by its number
};

Target target_of(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return {path, true};
  fs::path at = path;
  for (int links = 0; fs::is_symlink(at, error); ++links) {
    if (links == 40) fail("{}: cannot be written: {}", path.string(), std::strerror(ELOOP));
    if (at.native().starts_with("/proc/")) return {path, true};
    at = at.parent_path() / fs::read_symlink(at, error);
  }
  return {at};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// Creates an empty file under an unused name, with the usual permissions of a new file.
std::string make_passing_file(const std::string& path, const fs::path& folder) {
  for (int i = 0;; ++i) {
    std::string name = (folder / fmt::format(".hocket-{}-{}", getpid(), i)).string();
    int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return name;
    }
    if (errno != EEXIST) fail("{}: cannot be written: {}", path, why());
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (is_folder(path)) fail("{}: is a folder, wanted a file", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("{}: cannot be read: {}", path, why());
  std::string bytes;
  for (char block[1 << 16]; file.read(block, sizeof block) || file.gcount() > 0;)
    bytes.append(block, static_cast<std::size_t>(file.gcount()));
  if (file.bad()) fail("{}: cannot be read: {}", path, why());
  return bytes;
}

void require_writable(const std::string& path) {
  if (is_folder(path)) fail("{}: is a folder, wanted a file", path);
  Target target = target_of(path);
  fs::path where = target.special ? fs::path(path) : folder_of(target.path);
  if (access(where.c_str(), target.special ? W_OK : W_OK | X_OK) != 0)
    fail("{}: cannot be written: {}", path, why());
}

NewFiles::~NewFiles() {
  std::error_code ignored;
  for (const File& f : files_) fs::remove(f.passing, ignored);
}

std::string NewFiles::add(const std::string& path) {
  if (is_folder(path)) fail("{}: is a folder, wanted a file", path);
  Target target = target_of(path);
  if (target.special) return path;
  // A name that is too long is refused here, not after other files have been renamed.
  struct stat ignored;
  if (lstat(target.path.c_str(), &ignored) != 0 && errno != ENOENT)
    fail("{}: cannot be written: {}", path, why());
  std::string passing = make_passing_file(path, folder_of(target.path));
  files_.push_back({path, target.path.string(), passing});
  return passing;
}

void NewFiles::write(const std::string& path, std::string_view bytes) {
  std::string passing = add(path);
  errno = 0;
  // A path that is written directly, such as /dev/stdout, may already have content.
  std::ofstream file(passing, std::ios::binary | (passing == path ? std::ios::app : std::ios::out));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) fail("{}: cannot be written: {}", path, why());
}

void NewFiles::publish() {
  // All targets are checked before the first is replaced.
  for (const File& f : files_)
    if (is_folder(f.target)) fail("{}: is a folder, wanted a file", f.path);
  while (!files_.empty()) {
    std::error_code error;
    fs::rename(files_.front().passing, files_.front().target, error);
    if (error) fail("{}: cannot be written: {}", files_.front().path, error.message());
    files_.erase(files_.begin());
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  NewFiles files;
  files.write(path, bytes);
  files.publish();
}

}  // namespace hocket
