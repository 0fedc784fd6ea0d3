#pragma once
// JSON text, written value by value.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hocket {

/// The text as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD each.
void append_json_string(std::string& out, std::string_view text);

/// Puts commas and brackets in their places; InternalError for what is no JSON, such as a value
/// without a key in an object. Compact: no spaces, no line breaks.
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

  /// The whole text, once everything that was opened is closed.
  std::string take();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char open, char close);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& raw(std::string_view text);
  void before_value();

  std::string out_;
  std::string open_;   // brackets that wait for their ends
  bool first_ = true;  // nothing stands yet in the innermost bracket
  bool keyed_ = false;
};

}  // namespace hocket
