#pragma once
// Valid and invalid zip archives in memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::testing {

struct ZipEntry {
  std::string name;
  std::string content = {};
  std::uint16_t method = 0;  ///< 0: stored; 8: deflated, in blocks that are stored
  std::uint16_t flags = 0;
  std::optional<std::string> packed = {};  ///< replaces the packed content
  // Wrong values for the header:
  std::optional<std::uint32_t> crc = {}, size = {}, packed_size = {}, offset = {};
};

std::string make_zip(const std::vector<ZipEntry>& entries);

/// An archive from one text: for each entry a line `=== NAME` followed by its content. An entry
/// whose name ends in ` deflated` is deflated.
std::string zip_of_text(std::string_view text);

}  // namespace hocket::testing
