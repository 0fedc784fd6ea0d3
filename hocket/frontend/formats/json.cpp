#include "hocket/frontend/formats/json.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::frontend {

Json::Kind Json::kind() const {
  switch (tag()) {
    case 'n':
      return Kind::null;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'l':
    case 'u':
      return Kind::integer;
    case 'd':
      return Kind::real;
    case '"':
      return Kind::string;
    case '[':
      return Kind::array;
    default:
      return Kind::object;
  }
}

std::string_view Json::text() const {
  const std::uint8_t* at = tape_->strings + payload();
  std::uint32_t size = 0;
  std::memcpy(&size, at, sizeof size);
  return {reinterpret_cast<const char*>(at + sizeof size), size};
}

bool Json::boolean() const {
  if (tag() != 't' && tag() != 'f') refuse_kind("true or false");
  return tag() == 't';
}

std::int64_t Json::integer() const {
  std::uint64_t bits = tape_->words[index_ + 1];
  if (tag() == 'u') refuse(fmt::format("{}, wanted an integer of 64 bits with sign", bits));
  if (tag() != 'l') refuse_kind("an integer");
  return static_cast<std::int64_t>(bits);
}

double Json::number() const {
  std::uint64_t bits = tape_->words[index_ + 1];
  if (tag() == 'd') return std::bit_cast<double>(bits);
  if (tag() == 'l') return static_cast<double>(static_cast<std::int64_t>(bits));
  if (tag() != 'u') refuse_kind("a number");
  return static_cast<double>(bits);
}

std::string_view Json::string() const {
  if (tag() != '"') refuse_kind("a string");
  return text();
}

JsonArray Json::array() const {
  if (tag() != '[') refuse_kind("a list");
  return JsonArray(*this);
}

JsonObject Json::object() const {
  if (tag() != '{') refuse_kind("an object");
  return JsonObject(*this);
}

std::optional<Json> Json::find(std::string_view key) const {
  for (auto [name, value] : object())
    if (name == key) return value;
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  if (auto value = find(key)) return *value;
  refuse(fmt::format("no key {}", shown(key)));
}

std::size_t JsonArray::size() const {
  std::size_t count = 0;
  for (auto i = begin(); i != end(); ++i) ++count;
  return count;
}

std::size_t JsonObject::size() const {
  std::size_t count = 0;
  for (auto i = begin(); i != end(); ++i) ++count;
  return count;
}

std::string Json::place() const {
  auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string path;
  Json at(*tape_, 1);
  auto holds = [&](Json value) { return index_ < value.after(); };
  while (at.index_ != index_) {
    Json inner = at;
    if (at.is_array()) {
      std::size_t i = 0;
      for (Json item : at.array()) {
        inner = item;
        if (holds(item)) break;
        ++i;
      }
      path += fmt::format("[{}]", i);
    } else {
      std::string_view key;
      for (auto [name, value] : at.object()) {
        key = name;
        inner = value;
        if (holds(value)) break;
      }
      if (!key.empty() && key.size() < 100 && std::ranges::all_of(key, is_plain))
        path += fmt::format("{}{}", path.empty() ? "" : ".", key);
      else
        path += fmt::format("[{}]", shown(key));
    }
    at = inner;
  }
  if (path.size() > 300) path.replace(100, path.size() - 250, "...");
  return path.empty() ? tape_->where : fmt::format("{}: {}", tape_->where, path);
}

void Json::refuse(std::string_view what) const { fail("{}: {}", place(), what); }

void Json::refuse_kind(std::string_view wanted) const {
  constexpr std::string_view names[] = {"null",     "a boolean", "an integer", "a number",
                                        "a string", "a list",    "an object"};
  std::string_view found = names[static_cast<std::size_t>(kind())];
  refuse(fmt::format("{}, wanted {}", found, wanted));
}

struct JsonDocument::Data {
  JsonTape tape;
  simdjson::dom::document document;
};

namespace {

/// A repeated key, or none. `keys` is a buffer that is reused.
std::optional<std::string_view> twice(JsonObject object, std::vector<std::string_view>& keys) {
  constexpr std::size_t few = 8;
  keys.clear();
  for (auto [key, value] : object) keys.push_back(key);
  if (keys.size() > few) {
    std::ranges::sort(keys);
    auto same = std::ranges::adjacent_find(keys);
    return same == keys.end() ? std::nullopt : std::optional(*same);
  }
  for (std::size_t i = 1; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (keys[i] == keys[j]) return keys[i];
  return std::nullopt;
}

}  // namespace

JsonDocument::JsonDocument(std::unique_ptr<Data> data) : data_(std::move(data)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonDocument JsonDocument::parse(std::string_view text, std::string where) {
  if (text.size() > max_json_bytes)
    fail("{}: {} bytes of json, wanted at most {}", where, text.size(), max_json_bytes);
  auto data = std::make_unique<Data>();
  simdjson::dom::parser parser(max_json_bytes);
  auto error = parser.allocate(text.size(), max_json_depth);
  if (error == simdjson::SUCCESS)
    error = parser.parse_into_document(data->document, text.data(), text.size()).error();
  if (error != simdjson::SUCCESS) {
    // The parser does not give the position.
    std::string fault = json_fault(text);
    fail("{}: {}", where, fault.empty() ? simdjson::error_message(error) : fault.c_str());
  }
  data->tape = {data->document.tape.get(), data->document.string_buf.get(), std::move(where)};
  std::vector<std::string_view> keys;
  Json root(data->tape, 1);
  std::uint32_t end = root.after();
  for (Json at = root; at.index_ < end;) {
    if (at.is_object())
      if (auto key = twice(at.object(), keys))
        at.refuse(fmt::format("key {} stands there twice", shown(*key)));
    // Enters objects and arrays; a closing bracket takes a word of the tape.
    at.index_ = at.is_object() || at.is_array() ? at.index_ + 1 : at.after();
  }
  return JsonDocument(std::move(data));
}

Json JsonDocument::root() const { return {data_->tape, 1}; }

}  // namespace hocket::frontend
