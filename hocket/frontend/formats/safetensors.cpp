#include "hocket/frontend/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/json_writer.h"
#include "hocket/base/mapped_file.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/json.h"
#include "hocket/frontend/formats/json_values.h"

// The format: 8 bytes length of the header, little-endian; the header, a JSON object of
// name: {dtype, shape, data_offsets: [begin, end]} and perhaps __metadata__; the data.
static_assert(std::endian::native == std::endian::little, "tensors are read as they lie in files");

namespace hocket {
namespace {

using frontend::Json;
using frontend::JsonDocument;

constexpr std::size_t prefix = 8;
constexpr std::uint64_t max_header = 100'000'000;  // the limit of the format's own library
constexpr std::string_view metadata = "__metadata__";

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName dtypes[] = {{"F64", DType::f64},     {"F32", DType::f32}, {"BF16", DType::bf16},
                                {"F16", DType::f16},     {"I64", DType::i64}, {"I32", DType::i32},
                                {"I16", DType::i16},     {"I8", DType::i8},   {"U8", DType::u8},
                                {"BOOL", DType::boolean}};

}  // namespace

struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};

struct Safetensors::Data {
  std::string where;
  MappedFile file;
  std::string owned;       // the bytes, if not read from a file
  std::string_view bytes;  // of the data, after the header
  std::map<std::string, Type, std::less<>> types;
  std::map<std::string, ByteRange, std::less<>> ranges;

  void read(std::string_view all);

 private:
  [[noreturn]] void refuse(std::string_view tensor, std::string_view what) const {
    fail("{}: tensor {}: {}", where, shown(tensor), what);
  }
  Type read_type(std::string_view tensor, Json entry) const;
  ByteRange read_range(std::string_view tensor, Json entry, const Type& type) const;
  void require_bools(std::string_view tensor, ByteRange range) const;
  void require_covered() const;
};

Type Safetensors::Data::read_type(std::string_view tensor, Json entry) const {
  std::string_view dtype = entry.at("dtype").string();
  const auto* row = std::ranges::find(dtypes, dtype, &DTypeName::name);
  if (row == std::end(dtypes))
    refuse(tensor,
           fmt::format("dtype {}, wanted F64, F32, BF16, F16, I64, I32, I16, I8, U8 or BOOL",
                       shown(dtype)));
  Type type{.dtype = row->dtype};
  type.shape = frontend::read_shape(entry.at("shape"));
  return type;
}

ByteRange Safetensors::Data::read_range(std::string_view tensor, Json entry,
                                        const Type& type) const {
  std::vector<std::int64_t> offsets;
  for (Json offset : entry.at("data_offsets").array()) {
    offsets.push_back(offset.integer());
    if (offsets.size() > 2) break;
  }
  if (offsets.size() != 2) refuse(tensor, "data_offsets that are no pair");
  auto [begin, end] = std::pair(offsets[0], offsets[1]);
  if (begin < 0 || end < begin)
    refuse(tensor, fmt::format("bytes {} to {}, wanted a range", begin, end));
  if (end - begin != type.bytes())
    refuse(tensor, fmt::format("bytes {} to {}, wanted {} for {}", begin, end, type.bytes(),
                               to_text(type)));
  if (static_cast<std::uint64_t>(end) > bytes.size())
    refuse(tensor,
           fmt::format("bytes {} to {}, but the data ends at {}", begin, end, bytes.size()));
  return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)};
}

/// A bool that is neither 0 nor 1 means that the file is damaged; it would compare unequal to both.
void Safetensors::Data::require_bools(std::string_view tensor, ByteRange range) const {
  std::string_view data = bytes.substr(range.begin, range.end - range.begin);
  auto bad = std::ranges::find_if(data, [](char c) { return (c & 0xfe) != 0; });
  if (bad != data.end())
    refuse(tensor,
           fmt::format("byte {} is {}, wanted 0 or 1 for a bool", bad - data.begin(), *bad & 0xff));
}

/// Every byte of the data must belong to exactly one tensor, as the format requires.
void Safetensors::Data::require_covered() const {
  std::vector<std::pair<ByteRange, std::string_view>> order;
  for (const auto& [name, range] : ranges) order.emplace_back(range, name);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return std::pair(a.first.begin, a.first.end) < std::pair(b.first.begin, b.first.end);
  });
  std::uint64_t at = 0;
  std::string_view before;
  for (const auto& [range, name] : order) {
    if (range.begin < at)
      refuse(name, fmt::format("bytes {} to {} overlap those of {}", range.begin, range.end,
                               shown(before)));
    if (range.begin > at)
      fail("{}: bytes {} to {} of the data belong to no tensor", where, at, range.begin);
    at = range.end;
    before = name;
  }
  if (at != bytes.size())
    fail("{}: bytes {} to {} of the data belong to no tensor", where, at, bytes.size());
}

void Safetensors::Data::read(std::string_view all) {
  if (all.size() < prefix)
    fail("{}: {} bytes, wanted at least {} for a safetensors file", where, all.size(), prefix);
  std::uint64_t length = 0;
  std::memcpy(&length, all.data(), prefix);
  all.remove_prefix(prefix);
  if (length > max_header)
    fail("{}: a header of {} bytes, wanted at most {}; is it a safetensors file?", where, length,
         max_header);
  if (length > all.size())
    fail("{}: a header of {} bytes, but only {} follow", where, length, all.size());
  std::string_view header = all.substr(0, length);
  bytes = all.substr(length);
  JsonDocument document = JsonDocument::parse(header, where + ": header");
  for (auto [name, entry] : document.root().object()) {
    if (name == metadata) {
      for (auto [key, value] : entry.object()) value.string();
      continue;
    }
    Type type = read_type(name, entry);
    ByteRange range = read_range(name, entry, type);
    if (type.dtype == DType::boolean) require_bools(name, range);
    types.emplace(name, type);
    ranges.emplace(name, range);
  }
  require_covered();
}

Safetensors Safetensors::open(const std::string& path) {
  auto data = std::make_shared<Data>();
  data->where = path;
  data->file = MappedFile(path);
  data->read(data->file.bytes());
  Safetensors file;
  file.data_ = std::move(data);
  return file;
}

Safetensors Safetensors::parse(std::string bytes, const std::string& where) {
  auto data = std::make_shared<Data>();
  data->where = where;
  data->owned = std::move(bytes);
  data->read(data->owned);
  Safetensors file;
  file.data_ = std::move(data);
  return file;
}

const std::map<std::string, Type, std::less<>>& Safetensors::types() const {
  static const std::map<std::string, Type, std::less<>> none;
  return data_ ? data_->types : none;
}

Tensor Safetensors::load(std::string_view name) const {
  auto type = types().find(name);
  if (type == types().end())
    fail("{}: no tensor {}", data_ ? data_->where : "no file", shown(name));
  ByteRange range = data_->ranges.find(name)->second;
  Tensor tensor(type->second);
  std::copy_n(data_->bytes.data() + range.begin, range.end - range.begin, tensor.as<char>());
  return tensor;
}

std::string safetensors_bytes(const std::map<std::string, Tensor, std::less<>>& tensors) {
  // Wide elements first, so that every tensor is aligned to its element size.
  std::vector<std::pair<std::string_view, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(name, &tensor);
  std::ranges::stable_sort(order, std::greater{},
                           [](const auto& t) { return bytes(t.second->type().dtype); });
  std::map<std::string_view, ByteRange> ranges;
  std::uint64_t size = 0;
  for (auto [name, tensor] : order) {
    if (name == metadata || !is_utf8(name)) fail("tensor {}: no name for a tensor", shown(name));
    ranges[name] = {size, size + tensor->bytes().size()};
    size += tensor->bytes().size();
  }
  JsonWriter header;
  header.begin_object();
  for (const auto& [name, tensor] : tensors) {
    const Type& type = tensor.type();
    header.key(name).begin_object();
    header.field("dtype", std::ranges::find(dtypes, type.dtype, &DTypeName::dtype)->name);
    header.key("shape").begin_array();
    for (std::int64_t d : type.shape) header.value(d);
    header.end_array().key("data_offsets").begin_array();
    header.value(ranges[name].begin).value(ranges[name].end).end_array().end_object();
  }
  header.end_object();
  std::string text = header.take();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::uint64_t length = text.size();
  std::string out(prefix, '\0');
  std::memcpy(out.data(), &length, prefix);
  out.reserve(prefix + length + size);
  out += text;
  for (auto [name, tensor] : order)
    out.append(reinterpret_cast<const char*>(tensor->bytes().data()), tensor->bytes().size());
  return out;
}

void write_safetensors(const std::string& path,
                       const std::map<std::string, Tensor, std::less<>>& tensors) {
  write_file(path, safetensors_bytes(tensors));
}

}  // namespace hocket
