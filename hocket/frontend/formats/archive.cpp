#include "hocket/frontend/formats/archive.h"

#include <zip.h>

#include <algorithm>
#include <map>

#include "hocket/base/error.h"
#include "hocket/base/mapped_file.h"
#include "hocket/base/text.h"

namespace hocket::frontend {
namespace {

// Limits for the unpacked size of an archive, against zip bombs: weights hardly compress.
constexpr std::uint64_t always_unpacked = std::uint64_t{64} << 20;
constexpr std::uint64_t unpacked_ratio = 100;

/// A name that would be unpacked outside of the target folder.
bool leaves_folder(std::string_view name) {
  if (name.starts_with('/') || name.find('\\') != name.npos) return true;
  return std::ranges::any_of(split(name, '/'), [](std::string_view part) { return part == ".."; });
}

std::string in_lower_case(std::string text) {
  auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  // An acronym stays in upper case.
  if (text.size() > 1 && is_upper(text[0]) && !is_upper(text[1])) text[0] += 'a' - 'A';
  return text;
}

}  // namespace

struct Archive::Data {
  std::string where;
  MappedFile file;
  std::string owned;  // the bytes, if not read from a file
  std::uint64_t bytes = 0;
  zip_t* zip = nullptr;
  std::vector<Entry> entries;
  std::map<std::string, zip_uint64_t, std::less<>> index;

  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    if (zip != nullptr) zip_discard(zip);
  }

  void open(std::string_view content);
  zip_stat_t about(zip_uint64_t entry) const;

 private:
  void list();
};

zip_stat_t Archive::Data::about(zip_uint64_t entry) const {
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                  ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(zip, entry, ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & needed) != needed)
    fail("{}: entry {} cannot be read", where, entry);
  return stat;
}

void Archive::Data::open(std::string_view content) {
  bytes = content.size();
  if (bytes == 0) fail("{}: empty, wanted a zip archive", where);  // libzip would accept it
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(content.data(), content.size(), 0, &error);
  if (source != nullptr) zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (zip == nullptr) {
    std::string reason = in_lower_case(zip_error_strerror(&error));
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    fail("{}: cannot be read as a zip archive: {}", where, reason);
  }
  list();
}

void Archive::Data::list() {
  std::uint64_t total = 0, allowed = std::max(always_unpacked, bytes * unpacked_ratio);
  auto count = static_cast<zip_uint64_t>(zip_get_num_entries(zip, 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat = about(i);
    std::string name = stat.name;
    if (name.empty()) fail("{}: entry {} has no name", where, i);
    if (leaves_folder(name))
      fail("{}: entry {}: wanted a name within the archive", where, shown(name));
    if (stat.encryption_method != ZIP_EM_NONE)
      fail("{}: entry {} is encrypted", where, shown(name));
    if (!index.emplace(name, i).second) fail("{}: a second entry {}", where, shown(name));
    total = total > UINT64_MAX - stat.size ? UINT64_MAX : total + stat.size;
    entries.push_back({std::move(name), stat.size});
  }
  if (total > allowed)
    fail("{}: expands from {} to {} bytes, wanted at most {}", where, bytes, total, allowed);
}

Archive::Archive(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;
Archive::~Archive() = default;

Archive Archive::open(const std::string& path) {
  auto data = std::make_unique<Data>();
  data->where = path;
  data->file = MappedFile(path);
  data->open(data->file.bytes());
  return Archive(std::move(data));
}

Archive Archive::parse(std::string bytes, std::string where) {
  auto data = std::make_unique<Data>();
  data->where = std::move(where);
  data->owned = std::move(bytes);
  data->open(data->owned);
  return Archive(std::move(data));
}

const std::vector<Archive::Entry>& Archive::entries() const { return data_->entries; }

bool Archive::contains(std::string_view name) const { return data_->index.contains(name); }

std::string Archive::place(std::string_view name) const {
  std::string text = shown(name);
  return fmt::format("{}: {}", data_->where, std::string_view(text).substr(1, text.size() - 2));
}

std::string Archive::read(std::string_view name, std::uint64_t limit) const {
  auto found = data_->index.find(name);
  if (found == data_->index.end()) fail("{}: no entry {}", data_->where, shown(name));
  zip_stat_t stat = data_->about(found->second);
  if (stat.size > limit) fail("{}: {} bytes, wanted at most {}", place(name), stat.size, limit);
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    fail("{}: compression method {}, wanted stored or deflated", place(name), stat.comp_method);
  auto close = [](zip_file_t* file) { zip_fclose(file); };
  std::unique_ptr<zip_file_t, decltype(close)> file(zip_fopen_index(data_->zip, found->second, 0),
                                                    close);
  if (!file) fail("{}: {}", place(name), in_lower_case(zip_strerror(data_->zip)));
  std::string content;
  content.reserve(stat.size);
  // Reads until the end, because the checksum is verified only after the last byte.
  char chunk[1 << 16];
  for (zip_int64_t n; (n = zip_fread(file.get(), chunk, sizeof chunk)) != 0;) {
    if (n < 0) fail("{}: {}", place(name), in_lower_case(zip_file_strerror(file.get())));
    content.append(chunk, static_cast<std::size_t>(n));
    if (content.size() > stat.size) break;
  }
  if (content.size() != stat.size)
    fail("{}: {} bytes than the {} that were announced", place(name),
         content.size() < stat.size ? "fewer" : "more", stat.size);
  return content;
}

}  // namespace hocket::frontend
