#include "hocket/base/file.h"

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

std::string why() { return errno != 0 ? std::strerror(errno) : "unknown reason"; }

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (std::filesystem::is_directory(path)) fail("{}: is a folder, wanted a file", path);
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
  if (std::filesystem::is_directory(path)) fail("{}: is a folder, wanted a file", path);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    fail("{}: cannot be written: {}", path, why());
}

void write_file(const std::string& path, std::string_view bytes) {
  std::filesystem::path target(path);
  // A device or pipe cannot be replaced by renaming; it is written as it is.
  std::error_code error;
  bool special =
      std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error);
  std::filesystem::path part = special ? target : std::filesystem::path(path + ".part");
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    std::string reason = why();
    if (!special) std::filesystem::remove(part, error);
    fail("{}: cannot be written: {}", path, reason);
  }
  if (special) return;
  std::filesystem::rename(part, target, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    fail("{}: cannot be written: {}", path, error.message());
  }
}

}  // namespace hocket
