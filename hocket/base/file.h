#pragma once
// Reads and writes whole files.

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// The bytes of a file, `-` being standard input; Error naming the path when it cannot be read.
std::string read_file(const std::string& path);

/// Writes a file whole or not at all: it writes a temporary file in the same folder and renames it
/// when complete. A link is followed: the file it points to is replaced.
void write_file(const std::string& path, std::string_view bytes);

/// Error if write_file could not write there, as far as this can be known in advance. Called before
/// long work whose result will be written.
void require_writable(const std::string& path);

/// Writes several files that appear together: each is written under a temporary name in its folder,
/// and publish() renames all of them. Files that are not published are removed.
class NewFiles {
 public:
  NewFiles() = default;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles();

  /// The name of the empty temporary file to write for `path`. A device or pipe cannot be replaced
  /// by renaming: its own path is returned. Error when nothing can be written there.
  std::string add(const std::string& path);
  void write(const std::string& path, std::string_view bytes);
  void publish();

 private:
  struct File {
    std::string path;    // as the user named it
    std::string target;  // after following links
    std::string passing;
  };
  std::vector<File> files_;
};

}  // namespace hocket
