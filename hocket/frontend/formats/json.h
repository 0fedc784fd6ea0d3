#pragma once
// Reads untrusted JSON as a tree. A value of the wrong kind is an Error with its place:
// `graph.json: nodes[3].args[1].float: a string, wanted a number`.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::frontend {

inline constexpr std::size_t max_json_bytes = std::size_t{1} << 31;
inline constexpr std::size_t max_json_depth = 128;

class JsonArray;
class JsonObject;

/// The parser's tape: one word for each bracket, string or literal, two for each number. Every
/// opening bracket has the index after its closing one, so a value is skipped in O(1).
struct JsonTape {
  const std::uint64_t* words = nullptr;
  const std::uint8_t* strings = nullptr;
  std::string where;
};

/// One value of a document: cheap to copy, valid as long as the document lives.
class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  Json(const JsonTape& tape, std::uint32_t index) : tape_(&tape), index_(index) {}

  Kind kind() const;
  bool is_null() const { return tag() == 'n'; }
  bool is_string() const { return tag() == '"'; }
  bool is_array() const { return tag() == '['; }
  bool is_object() const { return tag() == '{'; }

  bool boolean() const;
  /// A signed 64-bit integer; a number with a point or exponent is refused.
  std::int64_t integer() const;
  /// Any number.
  double number() const;
  std::string_view string() const;
  JsonArray array() const;
  JsonObject object() const;

  /// Of an object. O(keys): to read many keys of a large object, iterate over it instead.
  std::optional<Json> find(std::string_view key) const;
  /// The same; Error when the key is missing.
  Json at(std::string_view key) const;

  /// `graph.json: nodes[3].args[1]`. O(document): for messages.
  std::string place() const;
  /// Error `PLACE: what`.
  [[noreturn]] void refuse(std::string_view what) const;
  /// Error `PLACE: a string, wanted WANTED`.
  [[noreturn]] void refuse_kind(std::string_view wanted) const;

 private:
  friend class JsonArray;
  friend class JsonObject;
  friend class JsonDocument;

  std::uint64_t word() const { return tape_->words[index_]; }
  char tag() const { return static_cast<char>(word() >> 56); }
  std::uint64_t payload() const { return word() & ~(std::uint64_t{0xff} << 56); }
  /// Index of the value after this one.
  std::uint32_t after() const;
  std::string_view text() const;

  const JsonTape* tape_;
  std::uint32_t index_;
};

/// `for (Json item : value.array())`
class JsonArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Json;
    using difference_type = std::ptrdiff_t;
    using pointer = const Json*;
    using reference = Json;
    explicit Iterator(Json at) : at_(at) {}
    Json operator*() const { return at_; }
    Iterator& operator++() {
      at_.index_ = at_.after();
      return *this;
    }
    bool operator==(const Iterator& o) const { return at_.index_ == o.at_.index_; }

   private:
    Json at_;
  };
  Iterator begin() const { return Iterator({*of_.tape_, of_.index_ + 1}); }
  Iterator end() const { return Iterator({*of_.tape_, of_.after() - 1}); }
  /// O(items).
  std::size_t size() const;

 private:
  friend class Json;
  explicit JsonArray(Json of) : of_(of) {}
  Json of_;
};

/// `for (auto [key, value] : value.object())`; keys are unique.
class JsonObject {
 public:
  struct Entry {
    std::string_view key;
    Json value;
  };
  class Iterator {
   public:
    explicit Iterator(Json key) : key_(key) {}
    Entry operator*() const { return {key_.text(), {*key_.tape_, key_.index_ + 1}}; }
    Iterator& operator++() {
      key_.index_ = Json(*key_.tape_, key_.index_ + 1).after();
      return *this;
    }
    bool operator==(const Iterator& o) const { return key_.index_ == o.key_.index_; }

   private:
    Json key_;
  };
  Iterator begin() const { return Iterator({*of_.tape_, of_.index_ + 1}); }
  Iterator end() const { return Iterator({*of_.tape_, of_.after() - 1}); }
  /// O(entries).
  std::size_t size() const;

 private:
  friend class Json;
  explicit JsonObject(Json of) : of_(of) {}
  Json of_;
};

/// A parsed text: complete, well-formed, of bounded depth, with unique keys in every object.
class JsonDocument {
 public:
  /// Error `WHERE: byte 17: found 'x', wanted a value` for anything else.
  static JsonDocument parse(std::string_view text, std::string where);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  Json root() const;

 private:
  struct Data;
  explicit JsonDocument(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

/// The first error in a text that is not JSON: `byte 17: found 'x', wanted a value`; empty for
/// valid JSON. Slow: only for messages.
std::string json_fault(std::string_view text);

inline std::uint32_t Json::after() const {
  switch (tag()) {
    case '{':
    case '[':
      return static_cast<std::uint32_t>(word());
    case 'l':
    case 'u':
    case 'd':
      return index_ + 2;
    default:
      return index_ + 1;
  }
}

}  // namespace hocket::frontend
