#pragma once
// Whole files, in and out.

#include <string>
#include <string_view>

namespace hocket {

/// The bytes of a file, `-` being standard input; Error naming the path when it cannot be read.
std::string read_file(const std::string& path);

/// Writes a file whole or not at all: through a neighbour that is renamed when complete.
void write_file(const std::string& path, std::string_view bytes);

/// Error when write_file could not write there, as far as can be told beforehand: for what is
/// written behind long work.
void require_writable(const std::string& path);

}  // namespace hocket
