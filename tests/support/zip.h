#pragma once
// Zip archives, good and bad ones, in memory.

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
  std::optional<std::string> packed = {};  ///< instead of what packing the content gives
  // Lies:
  std::optional<std::uint32_t> crc = {}, size = {}, packed_size = {}, offset = {};
};

std::string make_zip(const std::vector<ZipEntry>& entries);

/// The same from one text: `=== NAME`, a line break, what is in the entry, a line break, `=== `...
/// An entry whose name ends in ` deflated` is.
std::string zip_of_text(std::string_view text);

}  // namespace hocket::testing
