#pragma once
// JSON text, written value by value.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hocket {

/// The text as a JSON string with its quotes. Each byte that is not valid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// JSON text without spaces, as JsonWriter makes it, in lines for people: a member of an object or
/// an element of an array in each; lists of numbers stay in one line.
std::string indented(std::string_view json);

/// Inserts commas and brackets; InternalError for calls that do not give valid JSON, such as a
/// value without a key in an object. Compact: no spaces, no line breaks.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('{', '}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close('[', ']'); }
  JsonWriter& key(std::string_view key);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  /// The shortest text that reads back as the same double; "nan", "inf" and "-inf" as strings.
  JsonWriter& value(double number);
  JsonWriter& value(float number) { return value(static_cast<double>(number)); }
  JsonWriter& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    return std::in_range<std::int64_t>(number) ? integer(static_cast<std::int64_t>(number))
                                               : raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }

  template <class T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// Returns the whole text. All brackets must be closed.
  std::string take();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char open, char close);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& raw(std::string_view text);
  void before_value();

  std::string out_;
  std::string open_;   // brackets that are not closed yet
  bool first_ = true;  // the innermost bracket is still empty
  bool keyed_ = false;
};

}  // namespace hocket
