#include "hocket/frontend/formats/capture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "hocket/base/file.h"
#include "support/message.h"

namespace hocket::frontend {
namespace {

using testing::message_of;
using Kind = SourceNode::Kind;

std::string with_header(const std::string& nodes, const std::string& more = "") {
  return R"({"format":"fx-capture","version":1,"world_size":2,)" + more + "\"nodes\":[" + nodes +
         "]}";
}
const std::string x =
    R"({"name":"x","op":"placeholder","target":"x","args":[],"kind":"input","fqn":"in.x",
        "meta":{"dtype":"float32","shape":[2,3],"stride":[3,1],"device":"cpu"}})";
const std::string output = R"({"name":"output","op":"output","target":"output","args":[[]]})";

std::string node(const std::string& fields) {
  return R"({"name":"n","op":"call_function","target":"aten.t",)" + fields + "}";
}
std::string call(const std::string& args) { return node("\"args\":[" + args + "]"); }
std::string capture_refusal(const std::string& text) {
  return message_of([&] { read_capture(text, "g.json"); });
}
std::string node_refusal(const std::string& fields) {
  return capture_refusal(with_header(x + "," + node(fields) + "," + output));
}

TEST(Capture, ReadsEveryKindOfNodeAndValue) {
  Source s = read_capture(
      with_header(
          x + R"(,{"name":"p","op":"placeholder","kind":"optimizer_state","fqn":"m.p",
               "meta":{"dtype":"int64","shape":[]}},
              {"name":"c","op":"get_attr","target":"t0","args":[],
               "meta":{"dtype":"bool","shape":[2],"stride":[1]}},)" +
              node(R"("args":[{"node":"x"},[1,[{"node":"c"},null]],true,-2,"sum",{"float":0.5},
                   {"float":"-inf"},{"float":3},{"dtype":"bfloat16"},{"device":"cpu"},
                   {"layout":"strided"},{"memory_format":"contiguous_format"},
                   {"slice":[null,1,{"node":"x"}]},{"dict":{"k":[1]}},2.5],
                   "kwargs":{"alpha":{"float":2},"out":{"node":"p"}},
                   "meta":[{"dtype":"float16","shape":[1],"stride":[1]},null,[]])") +
              R"(,{"name":"output","op":"output","args":[[{"node":"n"},null]]})",
          R"("constants":{"t0":[true,false],"unused":1},"groups":{"0":[[0,1]],"tp":[[0],[1]]},)"),
      "g.json");
  EXPECT_EQ(s.where, "g.json");
  EXPECT_EQ(s.world_size, 2);
  EXPECT_FALSE(s.differentiable);
  ASSERT_EQ(s.nodes.size(), 5u);
  EXPECT_EQ(s.nodes[0].kind, Kind::placeholder);
  EXPECT_EQ(s.nodes[0].input.names, (std::vector<std::string>{"in.x"}));
  EXPECT_FALSE(s.nodes[0].input.state);
  EXPECT_EQ(to_text(*s.nodes[0].meta.type), "f32[2,3]");
  EXPECT_EQ(s.nodes[0].meta.strides, (Ints{3, 1}));
  EXPECT_TRUE(s.nodes[1].input.state);
  EXPECT_EQ(s.nodes[1].input.kind, StateKind::optimizer);
  EXPECT_EQ(s.nodes[2].kind, Kind::constant);
  EXPECT_EQ(s.nodes[2].target, "t0");
  ASSERT_TRUE(s.constants.contains("t0"));
  EXPECT_FALSE(s.constants.contains("unused"));
  EXPECT_EQ(s.constants.at("t0").as<std::uint8_t>()[0], 1);
  const auto& args = s.nodes[3].args;
  ASSERT_EQ(args.size(), 15u);
  EXPECT_EQ(args[0].as<Ref>()->node, 0u);
  EXPECT_EQ(args[0].as<Ref>()->result, -1);
  EXPECT_EQ((*(*args[1].as<List>())[1].as<List>())[0].as<Ref>()->node, 2u);
  EXPECT_TRUE((*(*args[1].as<List>())[1].as<List>())[1].none());
  EXPECT_EQ(*args[2].as<bool>(), true);
  EXPECT_EQ(*args[3].as<std::int64_t>(), -2);
  EXPECT_EQ(*args[4].as<std::string>(), "sum");
  EXPECT_EQ(*args[5].as<double>(), 0.5);
  EXPECT_EQ(*args[6].as<double>(), -INFINITY);
  EXPECT_EQ(*args[7].as<double>(), 3.0);
  EXPECT_EQ(*args[8].as<DType>(), DType::bf16);
  for (int i : {9, 10, 11}) EXPECT_TRUE(args[static_cast<std::size_t>(i)].as<Ignored>());
  EXPECT_EQ(args[12].as<Slice>()->parts.size(), 3u);
  EXPECT_EQ(args[13].as<Dict>()->entries[0].first, "k");
  EXPECT_EQ(*args[14].as<double>(), 2.5);
  EXPECT_EQ(s.nodes[3].kwargs[1].first, "out");
  ASSERT_EQ(s.nodes[3].meta.list.size(), 3u);
  EXPECT_EQ(s.nodes[3].meta.list[0].type->dtype, DType::f16);
  EXPECT_FALSE(s.nodes[3].meta.list[1].type);
  EXPECT_EQ(s.nodes[4].kind, Kind::output);
  EXPECT_EQ(s.groups.at("tp"), (std::vector<std::vector<int>>{{0}, {1}}));
}

TEST(Capture, OutputsInADictGetNames) {
  Source s = read_capture(
      with_header(x + R"(,{"name":"o","op":"output","args":[{"dict":{"loss":{"node":"x"},
                          "hidden":[{"node":"x"},{"dict":{"a":null}}]}}]})"),
      "g.json");
  EXPECT_EQ(s.output_names, (std::vector<std::string>{"loss", "hidden.0", "hidden.1.a"}));
  EXPECT_EQ(s.nodes[1].args[0].as<List>()->size(), 3u);
}

TEST(Capture, RefusesWhatIsNoCapture) {
  EXPECT_EQ(capture_refusal("[]"), "g.json: a list, wanted an object");
  EXPECT_EQ(capture_refusal("{}"), "g.json: no key 'format'");
  EXPECT_EQ(capture_refusal(R"({"format":"onnx"})"), "g.json: format 'onnx', wanted 'fx-capture'");
  EXPECT_EQ(capture_refusal(R"({"format":"fx-capture","version":2})"),
            "g.json: version 2, wanted 1");
  EXPECT_EQ(capture_refusal(R"({"format":"fx-capture","version":1,"world_size":0})"),
            "g.json: world_size 0, wanted 1 to 1048576");
  EXPECT_EQ(capture_refusal(R"({"format":"fx-capture","version":1,"world_size":9999999})"),
            "g.json: world_size 9999999, wanted 1 to 1048576");
  EXPECT_EQ(capture_refusal(R"({"format":"fx-capture","version":1,"world_size":2,"nodes":{}})"),
            "g.json: nodes: an object, wanted a list");
  EXPECT_EQ(capture_refusal(with_header("")), "g.json: nodes: no output at the end");
  EXPECT_EQ(capture_refusal(with_header(x)), "g.json: nodes: no output at the end");
  EXPECT_EQ(capture_refusal(with_header(output + "," + x)),
            "g.json: nodes[1]: a node behind the output");
  EXPECT_EQ(capture_refusal(with_header(x + "," + x + "," + output)),
            "g.json: nodes[1]: a second node 'x'");
  EXPECT_EQ(capture_refusal(with_header(output, R"("groups":{"g":[[0,2]]},)")),
            "g.json: groups.g[0][1]: rank 2, wanted 0 to 1");
  std::string whole = with_header(x + "," + output);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(capture_refusal(whole.substr(0, size)), "") << size;
}

TEST(Capture, RefusesReferencesThatLeadNowhereOrAhead) {
  EXPECT_EQ(capture_refusal(with_header(x + "," + call(R"({"node":"z"})") + "," + output)),
            "g.json: nodes[1].args[0].node: node 'n': reads 'z', but no node has that name");
  EXPECT_EQ(capture_refusal(with_header(call(R"([{"node":"x"}])") + "," + x + "," + output)),
            "g.json: nodes[0].args[0][0].node: node 'n': reads 'x', which stands later: wanted "
            "nodes in execution order");
  EXPECT_EQ(capture_refusal(with_header(call(R"({"node":"n"})") + "," + output)),
            "g.json: nodes[0].args[0].node: node 'n': reads 'n', which stands later: wanted nodes "
            "in execution order");
}

TEST(Capture, RefusesNodesByName) {
  EXPECT_EQ(node_refusal(R"("args":[],"meta":{"dtype":"complex64","shape":[]})"),
            "g.json: nodes[1].meta.dtype: node 'n': dtype 'complex64', wanted float64, float32, "
            "bfloat16, float16, int64, int32, int16, int8, uint8 or bool");
  EXPECT_EQ(node_refusal(R"("args":[{"dtype":"float8"}])").substr(0, 59),
            "g.json: nodes[1].args[0].dtype: node 'n': dtype 'float8', w");
  EXPECT_EQ(node_refusal(R"("args":[],"meta":{"dtype":"int8","shape":[-1]})"),
            "g.json: nodes[1].meta.shape[0]: -1, wanted 0 or more");
  EXPECT_EQ(node_refusal(R"("args":[],"meta":{"dtype":"int8","shape":[2,2],"stride":[1]})"),
            "g.json: nodes[1].meta.stride: 1 stride, wanted 2");
  EXPECT_EQ(node_refusal(R"("args":[{"complex":[1,2]}])"),
            "g.json: nodes[1].args[0]: node 'n': key 'complex', wanted node, float, dtype, device, "
            "layout, memory_format, slice or dict");
  EXPECT_EQ(node_refusal(R"("args":[{}])"),
            "g.json: nodes[1].args[0]: node 'n': wanted an object with one key, such as \"node\"");
  EXPECT_EQ(node_refusal(R"("args":[{"slice":[1]}])"),
            "g.json: nodes[1].args[0].slice: wanted three parts of a slice");
  EXPECT_EQ(node_refusal(R"("args":[{"float":"x"}])"),
            "g.json: nodes[1].args[0].float: 'x', wanted a number, \"inf\", \"-inf\" or \"nan\"");
  EXPECT_EQ(node_refusal(R"("args":[99999999999999999999])"),
            "g.json: byte 281: number '99999999999999999999' does not fit into 64 bits");
  EXPECT_EQ(node_refusal(R"("args":{})"), "g.json: nodes[1].args: an object, wanted a list");
  EXPECT_EQ(
      capture_refusal(with_header(R"({"name":"m","op":"call_module","target":"l","args":[]})")),
      "g.json: nodes[0]: node 'm': a call of a module, whose code is not in the file; wanted "
      "functions only, as make_fx writes them");
  EXPECT_EQ(capture_refusal(with_header(R"({"name":"m","op":"call_method","args":[]})")),
            "g.json: nodes[0]: node 'm': op 'call_method', wanted placeholder, get_attr, "
            "call_function or output");
  EXPECT_EQ(capture_refusal(with_header(R"({"name":"p","op":"placeholder","kind":"input"})")),
            "g.json: nodes[0]: node 'p': no dtype and shape in its meta, wanted a tensor");
  EXPECT_EQ(capture_refusal(with_header(R"({"name":"p","op":"placeholder","kind":"weight"})")),
            "g.json: nodes[0]: node 'p': kind 'weight', wanted parameter, buffer, optimizer_state "
            "or input");
  EXPECT_EQ(capture_refusal(with_header(R"({"name":"","op":"output","args":[]})")),
            "g.json: nodes[0]: a name that is empty");
  EXPECT_EQ(capture_refusal(with_header(
                R"({"name":"c","op":"get_attr","target":"t","meta":{"dtype":"int8","shape":[1]}},
                   {"name":"d","op":"get_attr","target":"t","meta":{"dtype":"int8","shape":[]}},)" +
                    output,
                R"("constants":{"t":[1]},)")),
            "g.json: constants.t: i8[] for node 'd', elsewhere i8[1]");
}

TEST(Capture, DeepValuesAreRefusedNotFollowed) {
  std::string deep(100'000, '[');
  EXPECT_EQ(node_refusal("\"args\":[" + deep + "]").find("nested deeper") != std::string::npos,
            true);
}

TEST(Capture, ReadsTheRecordedSteps) {
  namespace fs = std::filesystem;
  int found = 0;
  for (const char* folder : {HOCKET_DATA "/captures", HOCKET_DATA "/graphs"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::string path = entry.path() / "graph.json";
      if (!fs::exists(path)) continue;
      Source s = read_capture(read_file(path), path);
      EXPECT_GT(s.nodes.size(), 100u) << path;
      EXPECT_EQ(s.nodes.back().kind, Kind::output);
      ++found;
    }
  }
  EXPECT_GT(found, 0) << "no data in " HOCKET_DATA;
}

}  // namespace
}  // namespace hocket::frontend
