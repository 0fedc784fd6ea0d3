#include "hocket/frontend/formats/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/base/json_writer.h"
#include "hocket/frontend/formats/json_values.h"
#include "support/message.h"

namespace hocket::frontend {
namespace {

using testing::message_of;

JsonDocument parsed(std::string_view text) { return JsonDocument::parse(text, "t.json"); }
std::string json_refusal(std::string_view text) {
  return message_of([&] { parsed(text); });
}

TEST(Json, ValuesOfEveryKind) {
  JsonDocument doc = parsed(
      R"({"null": null, "yes": true, "no": false, "int": -7, "big": 9223372036854775807,
          "real": 1.5e3, "text": "a\"\u00e4\n", "list": [1, [2, 3], {}, []], "object": {"k": 1}})");
  Json root = doc.root();
  EXPECT_TRUE(root.at("null").is_null());
  EXPECT_TRUE(root.at("yes").boolean());
  EXPECT_FALSE(root.at("no").boolean());
  EXPECT_EQ(root.at("int").integer(), -7);
  EXPECT_EQ(root.at("int").number(), -7.0);
  EXPECT_EQ(root.at("big").integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(root.at("real").number(), 1500.0);
  EXPECT_EQ(root.at("text").string(), "a\"\u00e4\n");
  EXPECT_EQ(root.at("list").array().size(), 4u);
  EXPECT_EQ(root.object().size(), 9u);
  EXPECT_EQ(root.at("object").at("k").integer(), 1);
  EXPECT_FALSE(root.find("absent"));
  std::vector<Json::Kind> kinds;
  for (auto [key, value] : root.object()) kinds.push_back(value.kind());
  using enum Json::Kind;
  EXPECT_EQ(kinds,
            (std::vector{null, boolean, boolean, integer, integer, real, string, array, object}));
  EXPECT_EQ(parsed("3").root().integer(), 3);
  EXPECT_EQ(parsed("[]").root().array().size(), 0u);
  EXPECT_EQ(parsed(" {} ").root().object().size(), 0u);
}

TEST(Json, AWrongKindSaysWhereAndWhat) {
  JsonDocument doc = parsed(
      R"({"nodes": [0, {}, [], {"args": [1, {"float": "x"}]}], "a.b": {"": null}, "n": 1.0,
          "u": 18446744073709551615})");
  Json root = doc.root();
  auto item = [&](std::size_t i) {
    auto at = root.at("nodes").array().begin();
    while (i-- > 0) ++at;
    return *at;
  };
  Json args = item(3).at("args");
  Json number = (*++args.array().begin()).at("float");
  EXPECT_EQ(message_of([&] { number.number(); }),
            "t.json: nodes[3].args[1].float: a string, wanted a number");
  EXPECT_EQ(message_of([&] { args.at("x"); }), "t.json: nodes[3].args: a list, wanted an object");
  EXPECT_EQ(message_of([&] { item(1).at("x"); }), "t.json: nodes[1]: no key 'x'");
  EXPECT_EQ(message_of([&] { root.integer(); }), "t.json: an object, wanted an integer");
  EXPECT_EQ(message_of([&] { root.at("a.b").at("").string(); }),
            "t.json: ['a.b']['']: null, wanted a string");
  EXPECT_EQ(message_of([&] { root.at("n").integer(); }), "t.json: n: a number, wanted an integer");
  EXPECT_EQ(message_of([&] { root.at("n").boolean(); }),
            "t.json: n: a number, wanted true or false");
  EXPECT_EQ(message_of([&] { root.at("u").integer(); }),
            "t.json: u: 18446744073709551615, wanted an integer of 64 bits with sign");
  EXPECT_EQ(message_of([&] { root.at("n").array(); }), "t.json: n: a number, wanted a list");
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "ends after 0 bytes, wanted a value"},
      {"  ", "ends after 2 bytes, wanted a value"},
      {R"({"a": [1, 2)", "ends after 11 bytes, wanted ',' or ']'"},
      {R"({"a": "b)", "ends after 8 bytes, wanted the end of a string"},
      {"[1 2]", "byte 3: found '2', wanted ',' or ']'"},
      {"[1,]", "byte 3: found ']', wanted a value"},
      {"{\"a\" 1}", "byte 5: found '1', wanted ':'"},
      {"{a: 1}", "byte 1: found 'a', wanted a key in quotes"},
      {"{} {}", "byte 3: found '{', wanted the end"},
      {"[NaN]", "byte 1: found 'N', wanted a value"},
      {"[01]", "byte 2: found '1', wanted no digit behind a leading 0"},
      {"[1.]", "byte 3: found ']', wanted a digit"},
      {"[-]", "byte 2: found ']', wanted a digit"},
      {"[18446744073709551616]", "byte 1: number '18446744073709551616' does not fit into 64 bits"},
      {"[-9223372036854775809]", "byte 1: number '-9223372036854775809' does not fit into 64 bits"},
      {"[1e999]", "byte 1: number '1e999' does not fit into 64 bits"},
      {"[\"\xff\"]", "byte 2: found 0xff, wanted utf-8 in a string"},
      {"[\"\n\"]", "byte 2: found '\\n', wanted an escape sequence for it"},
      {R"(["\x"])", R"(byte 3: found 'x', wanted one of "\/bfnrtu behind a backslash)"},
      {R"(["\u12"])", "byte 4: found '1', wanted four hexadecimal digits"},
      {R"(["\ud800"])", "byte 8: found '\\\"', wanted the other half of a character"},
      {std::string("[\0]", 3), "byte 1: found '\\x00', wanted a value"},
      {"[1]\xff", "byte 3: found 0xff, wanted the end"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(json_refusal(text), "t.json: " + wanted);
}

TEST(Json, DepthAndKeys) {
  std::string deep(max_json_depth, '['), close(max_json_depth, ']');
  EXPECT_EQ(json_refusal(deep + close), "");
  EXPECT_EQ(json_refusal("[" + deep + close + "]"), "t.json: byte 128: nested deeper than 128");
  EXPECT_EQ(json_refusal(std::string(5'000'000, '[')), "t.json: byte 128: nested deeper than 128");
  EXPECT_EQ(json_refusal(R"({"x": [{"a": 1, "b": {}, "a": 2}]})"),
            "t.json: x[0]: key 'a' stands there twice");
  std::string many = "{";
  for (int i = 0; i < 20; ++i) many += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_EQ(json_refusal(many + "\"k20\": 0}"), "");
  EXPECT_EQ(json_refusal(many + "\"k7\": 0}"), "t.json: key 'k7' stands there twice");
  EXPECT_EQ(json_refusal(R"({"a\n\u0001": 0, "a\u000a\u0001": 0})"),
            "t.json: key 'a\\n\\x01' stands there twice");
}

TEST(JsonValues, ShapesFloatsAndTensors) {
  EXPECT_EQ(read_shape(parsed("[2, 0, 3]").root()), (Shape{2, 0, 3}));
  auto shape = [](std::string_view text) {
    return message_of([&] { read_shape(parsed(text).root()); });
  };
  EXPECT_EQ(shape("[2, -1]"), "t.json: [1]: -1, wanted 0 or more");
  EXPECT_EQ(shape("[4294967296, 4294967296]"), "t.json: [4294967296,4294967296] is too large");
  EXPECT_EQ(shape("[2.0]"), "t.json: [0]: a number, wanted an integer");
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(shape(ones + "]"), "t.json: more than 64 dimensions");
  EXPECT_EQ(message_of([] { read_strides(parsed("[1]").root(), 2); }),
            "t.json: 1 stride, wanted 2");
  EXPECT_EQ(read_float(parsed("\"-inf\"").root()), -INFINITY);
  EXPECT_TRUE(std::isnan(read_float(parsed("\"NaN\"").root())));
  EXPECT_EQ(message_of([] { read_float(parsed("\"one\"").root()); }),
            "t.json: 'one', wanted a number, \"inf\", \"-inf\" or \"nan\"");
  Tensor t = read_tensor(parsed("[[1, 2.5, \"inf\"], [true, {\"float\": -0.0}, 6]]").root(),
                         {.dtype = DType::f32, .shape = {2, 3}});
  EXPECT_EQ(t.as<float>()[1], 2.5f);
  EXPECT_EQ(t.as<float>()[2], INFINITY);
  EXPECT_EQ(t.as<float>()[3], 1.0f);
  EXPECT_TRUE(std::signbit(t.as<float>()[4]));
  EXPECT_EQ(read_tensor(parsed("1").root(), {.dtype = DType::bf16}).as<std::uint16_t>()[0], 0x3f80);
  auto tensor = [](std::string_view text, DType dtype, Shape dims) {
    return message_of([&] { read_tensor(parsed(text).root(), {.dtype = dtype, .shape = dims}); });
  };
  EXPECT_EQ(tensor("[[1], [2, 3]]", DType::f32, {2, 1}), "t.json: [1]: 2 items, wanted 1");
  EXPECT_EQ(tensor("[1]", DType::f32, {1, 1}), "t.json: [0]: an integer, wanted a list");
  EXPECT_EQ(tensor("[300]", DType::u8, {1}), "t.json: [0]: 300, wanted 0 to 255 for u8");
  EXPECT_EQ(tensor("[1]", DType::f32, {std::int64_t{1} << 50}),
            "t.json: 1 item, wanted 1125899906842624");
}

TEST(JsonWriter, WritesWhatTheReaderReads) {
  JsonWriter w;
  w.begin_object().field("a", 1).field("b", true).field("c", "x\"\\\n\x01\x7f").key("d");
  w.begin_array().value(0.1).value(3.0).value(-0.0).value(1e300).null().value(INT64_MIN);
  w.value(UINT64_MAX).value(std::nan("")).value(-INFINITY).begin_object().end_object().end_array();
  w.field("e", std::string("\u00e4\xff\xc3(\xed\xa0\x80")).end_object();
  std::string text = w.take();
  EXPECT_EQ(text,
            "{\"a\":1,\"b\":true,\"c\":\"x\\\"\\\\\\n\\u0001\\u007f\",\"d\":[0.1,3.0,-0.0,1e+300,"
            "null,-9223372036854775808,18446744073709551615,\"nan\",\"-inf\",{}],"
            "\"e\":\"\u00e4\ufffd\ufffd(\ufffd\ufffd\ufffd\"}");
  JsonDocument doc = parsed(text);
  EXPECT_EQ(doc.root().at("c").string(), "x\"\\\n\x01\x7f");
  EXPECT_EQ((*doc.root().at("d").array().begin()).number(), 0.1);
  EXPECT_EQ(w.value(1).take(), "1");
}

TEST(JsonWriter, KeepsToTheGrammar) {
  EXPECT_THROW(JsonWriter().begin_object().value(1), InternalError);
  EXPECT_THROW(JsonWriter().begin_array().key("a"), InternalError);
  EXPECT_THROW(JsonWriter().begin_object().key("a").key("b"), InternalError);
  EXPECT_THROW(JsonWriter().begin_object().key("a").end_object(), InternalError);
  EXPECT_THROW(JsonWriter().begin_object().end_array(), InternalError);
  EXPECT_THROW(JsonWriter().end_object(), InternalError);
  EXPECT_THROW(JsonWriter().value(1).value(2), InternalError);
  EXPECT_THROW(JsonWriter().begin_object().take(), InternalError);
  EXPECT_THROW(JsonWriter().take(), InternalError);
}

}  // namespace
}  // namespace hocket::frontend
