#include "hocket/base/json_writer.h"

#include <algorithm>
#include <cmath>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    char c = text[0];
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 1 && (c < 0x20 || c == 0x7f)) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  auto line = [&] { out.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (c == '"') {
      std::size_t end = i + 1;
      while (json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      out.append(json.substr(i, end + 1 - i));
      i = end;
    } else if (c == '{' || c == '[') {
      std::size_t end = json.find_first_of("]}{[\"", i + 1);
      if (json[end] == ']' || json[end] == '}') {  // empty, or only numbers
        for (; i <= end; ++i) out.append(1, json[i]).append(json[i] == ',' ? " " : "");
        i = end;
        continue;
      }
      out += c;
      ++depth;
      line();
    } else if (c == '}' || c == ']') {
      --depth;
      line();
      out += c;
    } else {
      out += c;
      if (c == ',') line();
      if (c == ':') out += ' ';
    }
  }
  return out;
}

void JsonWriter::before_value() {
  if (open_.empty() ? !out_.empty() : open_.back() == '{' && !keyed_)
    internal_fail("json: a value {}", open_.empty() ? "behind the end" : "without a key");
  if (!first_ && !keyed_) out_ += ',';
  first_ = keyed_ = false;
}

JsonWriter& JsonWriter::key(std::string_view key) {
  if (open_.empty() || open_.back() != '{' || keyed_) internal_fail("json: key {}", shown(key));
  if (!first_) out_ += ',';
  append_json_string(out_, key);
  out_ += ':';
  keyed_ = true;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  out_ += bracket;
  open_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char open, char close) {
  if (open_.empty() || open_.back() != open || keyed_) internal_fail("json: unexpected {}", close);
  out_ += close;
  open_.pop_back();
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  before_value();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (std::isnan(number)) return value("nan");
  if (std::isinf(number)) return value(number < 0 ? "-inf" : "inf");
  before_value();
  append_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  before_value();
  append_number(out_, number);
  return *this;
}

std::string JsonWriter::take() {
  if (!open_.empty() || out_.empty()) internal_fail("json: taken before its end");
  first_ = true;
  return std::exchange(out_, {});
}

}  // namespace hocket
