#include "support/zip.h"

#include <algorithm>

namespace hocket::testing {
namespace {

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

void append(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::string deflated(std::string_view content) {
  std::string out;
  do {
    std::string_view block = content.substr(0, 0xffff);
    content.remove_prefix(block.size());
    out += content.empty() ? '\1' : '\0';
    append(out, block.size(), 2);
    append(out, ~block.size(), 2);
    out += block;
  } while (!content.empty());
  return out;
}

}  // namespace

std::string make_zip(const std::vector<ZipEntry>& entries) {
  std::string out, directory;
  for (const ZipEntry& e : entries) {
    std::string data = e.packed ? *e.packed : e.method == 8 ? deflated(e.content) : e.content;
    std::string common;  // the fields that both headers contain
    append(common, 20, 2);
    append(common, e.flags, 2);
    append(common, e.method, 2);
    append(common, 0x00210000, 4);  // date and time: the first day of the format
    append(common, e.crc.value_or(crc32(e.content)), 4);
    append(common, e.packed_size.value_or(static_cast<std::uint32_t>(data.size())), 4);
    append(common, e.size.value_or(static_cast<std::uint32_t>(e.content.size())), 4);
    append(common, e.name.size(), 2);
    append(common, 0, 2);
    directory += "PK\1\2";
    append(directory, 20, 2);
    directory += common;
    directory.append(10, '\0');  // comment, disk, attributes
    append(directory, e.offset.value_or(static_cast<std::uint32_t>(out.size())), 4);
    directory += e.name;
    out += "PK\3\4" + common + e.name + data;
  }
  std::size_t start = out.size();
  out += directory + "PK\5\6";
  append(out, 0, 4);
  append(out, entries.size(), 2);
  append(out, entries.size(), 2);
  append(out, directory.size(), 4);
  append(out, start, 4);
  append(out, 0, 2);
  return out;
}

std::string zip_of_text(std::string_view text) {
  constexpr std::string_view mark = "=== ", suffix = " deflated";
  std::vector<ZipEntry> entries;
  while (text.starts_with(mark)) {
    text.remove_prefix(mark.size());
    std::string_view name = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    std::size_t end = text.starts_with(mark) ? 0 : text.find("\n=== ");
    ZipEntry entry{.name = std::string(name), .content = std::string(text.substr(0, end))};
    if (name.ends_with(suffix)) {
      entry.name.resize(name.size() - suffix.size());
      entry.method = 8;
    }
    if (entries.size() < 0xffff && entry.name.size() < 0xffff) entries.push_back(std::move(entry));
    text.remove_prefix(end == 0 ? 0 : std::min(text.size(), end == text.npos ? end : end + 1));
  }
  return make_zip(entries);
}

}  // namespace hocket::testing
