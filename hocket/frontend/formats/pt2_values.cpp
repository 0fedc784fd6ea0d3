#include "hocket/frontend/formats/pt2_values.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/json_values.h"

namespace hocket::frontend {
namespace {

constexpr std::size_t max_table_bytes = std::size_t{1} << 30;
constexpr std::int64_t strided_layout = 7;

// With a stride of 0, few bytes make a large tensor. Tensors beyond these limits are refused.
constexpr std::int64_t always_allowed = 64 << 20, allowed_ratio = 4;

struct ScalarType {
  std::int64_t number;
  std::string_view name;  // PyTorch's
};
constexpr ScalarType scalar_types[] = {
    {0, "unknown"},         {1, "uint8"},        {2, "int8"},
    {3, "int16"},           {4, "int32"},        {5, "int64"},
    {6, "float16"},         {7, "float32"},      {8, "float64"},
    {9, "complex32"},       {10, "complex64"},   {11, "complex128"},
    {12, "bool"},           {13, "bfloat16"},    {28, "uint16"},
    {29, "float8_e4m3fn"},  {30, "float8_e5m2"}, {31, "float8_e4m3fnuz"},
    {32, "float8_e5m2fnuz"}};

/// Elements of a strided view, in order, into contiguous memory.
template <class T>
void gather(const char* base, std::span<const std::int64_t> sizes,
            std::span<const std::int64_t> strides, T*& out) {
  if (sizes.empty()) {
    std::memcpy(out++, base, sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    gather(base + i * strides[0] * static_cast<std::int64_t>(sizeof(T)), sizes.subspan(1),
           strides.subspan(1), out);
}

/// Sets the first byte that a view uses and the one after the last; Error on overflow.
void set_extent(Payloads::Payload& payload, Json at) {
  const TensorMeta& meta = payload.meta;
  if (meta.type.elements() == 0) return;
  std::int64_t size = bytes(meta.type.dtype), last = meta.offset;
  for (std::size_t i = 0; i < meta.strides.size(); ++i) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(meta.type.shape[i] - 1, meta.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      at.refuse("strides that lead beyond all memory");
  }
  if (last > max_elements) at.refuse("strides that lead beyond all memory");
  payload.first = meta.offset * size;
  payload.last = (last + 1) * size;
}

}  // namespace

DType read_scalar_type(Json value) {
  std::int64_t number = value.integer();
  const auto* found = std::ranges::find(scalar_types, number, &ScalarType::number);
  if (found == std::end(scalar_types)) value.refuse(fmt::format("unknown dtype {}", number));
  if (auto dtype = torch_dtype(found->name)) return *dtype;
  value.refuse(fmt::format("dtype {} ({}), wanted {}", number, found->name, torch_dtype_names()));
}

JsonObject::Entry read_union(Json value) {
  JsonObject object = value.object();
  if (object.size() != 1) value.refuse("wanted an object with one key, such as \"as_int\"");
  return *object.begin();
}

std::int64_t read_static_int(Json value) {
  auto [key, content] = read_union(value);
  if (key == "as_int") return content.integer();
  if (key != "as_expr" && key != "as_name")
    value.refuse(fmt::format("key {}, wanted as_int", shown(key)));
  std::string_view name = key == "as_name" ? content.string() : content.at("expr_str").string();
  value.refuse(fmt::format("size {} varies, wanted static shapes (export without dynamic_shapes)",
                           shown(name)));
}

TensorMeta read_tensor_meta(Json value) {
  TensorMeta meta{.type = {.dtype = read_scalar_type(value.at("dtype"))}};
  Json sizes = value.at("sizes"), strides = value.at("strides");
  for (Json size : sizes.array()) {
    if (meta.type.shape.size() == max_dims)
      sizes.refuse(fmt::format("more than {} dimensions", max_dims));
    meta.type.shape.push_back(read_static_int(size));
  }
  if (!count_elements(meta.type.shape))
    sizes.refuse(fmt::format("shape {}, wanted sizes of 0 or more and a product within bounds",
                             dims_text(meta.type.shape)));
  for (Json stride : strides.array()) {
    meta.strides.push_back(read_static_int(stride));
    if (meta.strides.back() < 0)
      stride.refuse(fmt::format("{}, wanted 0 or more", meta.strides.back()));
  }
  if (meta.strides.size() != meta.type.shape.size())
    strides.refuse(fmt::format("{}, wanted {}", count_of(std::ssize(meta.strides), "stride"),
                               meta.type.shape.size()));
  if (auto offset = value.find("storage_offset")) meta.offset = read_static_int(*offset);
  if (meta.offset < 0)
    value.refuse(fmt::format("storage_offset {}, wanted 0 or more", meta.offset));
  if (auto layout = value.find("layout"); layout && layout->integer() != strided_layout)
    layout->refuse(
        fmt::format("layout {}, wanted {} (strided)", layout->integer(), strided_layout));
  return meta;
}

Payloads::Payloads(const Archive& archive, const std::string& top)
    : archive_(&archive),
      weights_(read_table(top + "data/weights/")),
      constants_(read_table(top + "data/constants/")),
      allowed_bytes_(always_allowed) {
  for (const Archive::Entry& entry : archive.entries())
    allowed_bytes_ += static_cast<std::int64_t>(entry.size) * allowed_ratio;
}

Payloads::Table Payloads::read_table(const std::string& folder) const {
  std::string file;
  for (const Archive::Entry& entry : archive_->entries()) {
    if (!entry.name.starts_with(folder) || !entry.name.ends_with("_config.json")) continue;
    if (!file.empty())
      fail("{}: a second table besides {}", archive_->place(entry.name), shown(file));
    file = entry.name;
  }
  Table table;
  if (file.empty()) return table;
  JsonDocument document =
      JsonDocument::parse(archive_->read(file, max_table_bytes), archive_->place(file));
  for (auto [name, value] : document.root().at("config").object()) {
    if (value.at("use_pickle").boolean())
      value.refuse("saved with pickle, which is code; wanted a plain tensor");
    Payload payload{.entry = folder + std::string(value.at("path_name").string()),
                    .meta = read_tensor_meta(value.at("tensor_meta"))};
    set_extent(payload, value);
    if (!archive_->contains(payload.entry))
      value.refuse(fmt::format("no entry {} in the archive", shown(payload.entry)));
    table.emplace(name, std::move(payload));
  }
  return table;
}

const Payloads::Payload& Payloads::find(std::string_view name, bool constant) const {
  for (const Table* table :
       {constant ? &constants_ : &weights_, constant ? &weights_ : &constants_})
    if (auto found = table->find(name); found != table->end()) return found->second;
  fail("{}: no tensor {}", archive_->place("data"), shown(name));
}

Tensor Payloads::load(const Payload& payload) {
  if (entry_ != payload.entry) {
    data_ = archive_->read(payload.entry, UINT64_MAX);
    entry_ = payload.entry;
  }
  const TensorMeta& meta = payload.meta;
  std::string place = archive_->place(payload.entry);
  if (payload.last > std::ssize(data_))
    fail("{}: {} bytes, wanted at least {} for {}", place, data_.size(), payload.last,
         to_text(meta.type));
  allowed_bytes_ -= meta.type.bytes();
  if (allowed_bytes_ < 0)
    fail("{}: {} bytes for {}: tensors far larger than the archive", place, data_.size(),
         to_text(meta.type));
  Tensor tensor(meta.type);
  if (meta.type.elements() == 0) return tensor;
  visit_size(meta.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = tensor.as<T>();
    gather(data_.data() + payload.first, meta.type.shape, meta.strides, out);
  });
  if (meta.type.dtype == DType::boolean)
    for (std::byte b : tensor.bytes())
      if (b > std::byte{1}) fail("{}: a bool of {}, wanted 0 or 1", place, static_cast<int>(b));
  return tensor;
}

}  // namespace hocket::frontend
