#pragma once
// Whole files, in and out.

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// The bytes of a file, `-` being standard input; Error naming the path when it cannot be read.
std::string read_file(const std::string& path);

/// Writes a file whole or not at all: through a neighbour that is renamed when complete. A link
/// stays one, and what it points to is written.
void write_file(const std::string& path, std::string_view bytes);

/// Error when write_file could not write there, as far as can be told beforehand: for what is
/// written behind long work.
void require_writable(const std::string& path);

/// Files that appear together: each is written under a passing name in the folder of its own, and
/// all get theirs at the end. Nothing is left of files that were not published.
class NewFiles {
 public:
  NewFiles() = default;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles();

  /// The file to write for `path`, which is there and empty until then. A device or pipe cannot be
  /// replaced by renaming: it stands for itself. Error when nothing can be written there.
  std::string add(const std::string& path);
  void write(const std::string& path, std::string_view bytes);
  void publish();

 private:
  struct File {
    std::string path;    // as the user named it
    std::string target;  // behind links
    std::string passing;
  };
  std::vector<File> files_;
};

}  // namespace hocket
