#include "hocket/frontend/formats/pt2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "hocket/base/file.h"
#include "hocket/frontend/recording.h"
#include "support/message.h"
#include "support/zip.h"

namespace hocket::frontend {
namespace {

using testing::message_of;
using testing::zip_of_text;
using Kind = SourceNode::Kind;

/// A model with something of everything: entries of an archive as text.
const std::string& small() {
  static const std::string text = read_file(HOCKET_SOURCE_DIR "/tests/fuzz/pt2/small.txt");
  return text;
}

Pt2 read(const std::string& text) {
  return read_pt2(Archive::parse(zip_of_text(text), "m.pt2"), "m.pt2");
}

/// The text with its first (or every) `from` replaced.
std::string with(const std::string& from, const std::string& to, std::string text = small()) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}
std::string pt2_refusal(const std::string& text) {
  return message_of([&] { read(text); });
}
std::string pt2_refusal(const std::string& from, const std::string& to) {
  return pt2_refusal(with(from, to));
}

TEST(Pt2, ReadsInputsAndTheirValues) {
  Pt2 m = read(small());
  const auto& nodes = m.source.nodes;
  EXPECT_EQ(m.source.where, "m.pt2");
  EXPECT_TRUE(m.source.differentiable);
  ASSERT_EQ(nodes.size(), 12u);
  EXPECT_EQ(nodes[0].name, "p_w");
  EXPECT_EQ(nodes[0].input.names, (std::vector<std::string>{"w"}));
  EXPECT_EQ(nodes[0].input.kind, StateKind::parameter);
  EXPECT_TRUE(nodes[0].input.state);
  EXPECT_FALSE(nodes[0].same_as);
  EXPECT_EQ(nodes[1].same_as, 0u);  // the same view of the same bytes
  EXPECT_FALSE(nodes[2].same_as);   // other bytes of them
  EXPECT_EQ(nodes[3].input.kind, StateKind::buffer);
  EXPECT_EQ(nodes[4].kind, Kind::constant);
  EXPECT_EQ(nodes[4].target, "k");
  EXPECT_EQ(nodes[5].kind, Kind::placeholder);
  EXPECT_FALSE(nodes[5].input.state);
  EXPECT_EQ(m.tensors.size(), 4u);
  auto text = [](const Tensor& t) { return std::string(t.as<char>(), t.bytes().size()); };
  EXPECT_EQ(text(m.tensors.at("p_w")), "AAAACCCCBBBBDDDD");  // strides 1, 2
  EXPECT_EQ(m.tensors.at("p_tied").bytes().data(), m.tensors.at("p_w").bytes().data());
  EXPECT_EQ(text(m.tensors.at("p_v")), "EEEEFFFF");
  EXPECT_EQ(text(m.tensors.at("b_m")), "1234567812345678");  // stride 0
  EXPECT_EQ(text(m.source.constants.at("k")), std::string("\0\1", 2));
}

TEST(Pt2, ReadsNodesArgumentsAndResults) {
  Pt2 m = read(small());
  const auto& nodes = m.source.nodes;
  EXPECT_EQ(nodes[6].target, "aten.add.Tensor");
  EXPECT_EQ(nodes[6].path, "l.0");
  EXPECT_EQ(to_text(*nodes[6].meta.type), "f32[2,2]");
  ASSERT_EQ(nodes[6].kwargs.size(), 3u);
  EXPECT_EQ(nodes[6].kwargs[0].first, "self");
  EXPECT_EQ(nodes[6].kwargs[0].second.as<Ref>()->node, 5u);
  EXPECT_EQ(*nodes[6].kwargs[2].second.as<double>(), INFINITY);
  EXPECT_EQ(nodes[7].meta.list.size(), 2u);
  auto argument = [&](char name) -> const Argument& {
    return nodes[8].kwargs[static_cast<std::size_t>(name - 'a')].second;
  };
  const List& tensors = *argument('a').as<List>();
  EXPECT_EQ(tensors[0].as<Ref>()->node, 7u);
  EXPECT_EQ(tensors[0].as<Ref>()->result, 1);
  EXPECT_EQ(tensors[1].as<Ref>()->result, -1);
  EXPECT_EQ(*(*argument('b').as<List>())[1].as<std::int64_t>(), -1);
  EXPECT_EQ(*(*argument('c').as<List>())[0].as<double>(), 0.5);
  EXPECT_EQ(*(*argument('d').as<List>())[0].as<bool>(), true);
  EXPECT_TRUE(argument('e').none());
  EXPECT_EQ(*argument('f').as<std::string>(), "sum");
  EXPECT_EQ(*(*argument('g').as<List>())[0].as<std::string>(), "a");
  EXPECT_EQ(*argument('h').as<DType>(), DType::bf16);
  for (char name : {'i', 'j', 'k'}) EXPECT_TRUE(argument(name).as<Ignored>());
  EXPECT_EQ(*argument('l').as<std::int64_t>(), 3);
  EXPECT_EQ(*(*argument('m').as<List>())[0].as<std::int64_t>(), 3);
  EXPECT_EQ((*argument('n').as<List>())[0].as<Ref>()->node, 4u);
  EXPECT_TRUE((*argument('n').as<List>())[1].none());
  EXPECT_TRUE(argument('o').none());
  EXPECT_EQ(*argument('p').as<bool>(), false);
  EXPECT_EQ(argument('q').as<List>()->size(), 2u);
  EXPECT_EQ(argument('s').as<Dict>()->entries[0].first, "k");
  EXPECT_EQ(*argument('t').as<bool>(), true);
  EXPECT_EQ(*argument('u').as<double>(), 0.5);
  ASSERT_EQ(nodes[8].meta.list.size(), 3u);
  EXPECT_FALSE(nodes[8].meta.list[1].type);
  EXPECT_EQ(nodes[9].target, "pippy._pipe_split.default");
  EXPECT_EQ(nodes[10].target, "operator.add");
  EXPECT_EQ(nodes[10].args.size(), 2u);
}

TEST(Pt2, ReadsOutputsAndMutations) {
  Pt2 m = read(small());
  const SourceNode& output = m.source.nodes.back();
  EXPECT_EQ(output.kind, Kind::output);
  const List& values = *output.args[0].as<List>();
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[0].as<Ref>()->result, 0);
  EXPECT_EQ(values[1].as<Ref>()->result, 2);
  EXPECT_TRUE(values[3].none());
  EXPECT_EQ(m.source.output_names, (std::vector<std::string>{"", "loss", "grad.w", "", "x"}));
  ASSERT_EQ(m.source.mutations.size(), 1u);
  EXPECT_EQ(m.source.mutations[0].placeholder, 3u);
  EXPECT_EQ(m.source.mutations[0].value.node, 10u);
}

TEST(Pt2, RefusesOtherArchives) {
  EXPECT_EQ(pt2_refusal("=== a\nb"),
            "m.pt2: no entry models/NAME.json, wanted an archive of torch.export.save (PyTorch 2.8 "
            "or later)");
  EXPECT_EQ(pt2_refusal(small() + "\n=== m/models/other.json\n{}"),
            "m.pt2: two models, 'm/models/net.json' and 'm/models/other.json', wanted one");
  EXPECT_EQ(pt2_refusal("\nlittle\n", "\nbig\n"), "m.pt2: byte order 'big', wanted 'little'");
  EXPECT_EQ(pt2_refusal("m/byteorder", "m/order"), "m.pt2: no entry 'm/byteorder'");
  EXPECT_EQ(pt2_refusal(R"("major":8)", R"("major":7)"),
            "m.pt2: m/models/net.json: schema version 7, wanted 8");
  EXPECT_EQ(pt2_refusal("{\"graph_module\"", "{\"graph\""),
            "m.pt2: m/models/net.json: no key 'graph_module'");
  EXPECT_EQ(pt2_refusal("{\"graph_module\"", "{"),
            "m.pt2: m/models/net.json: byte 1: found ':', wanted a key in quotes");
  EXPECT_EQ(pt2_refusal("=== models/m.json\n{}\n=== byteorder\nlittle"),
            "m.pt2: models/m.json: no key 'graph_module'");
  EXPECT_EQ(pt2_refusal(small() + "\n=== m/data/weights/b_config.json\n{}"),
            "m.pt2: m/data/weights/b_config.json: a second table besides "
            "'m/data/weights/net_weights_config.json'");
}

TEST(Pt2, RefusesWeightsThatDoNotFit) {
  const std::string table = "m.pt2: m/data/weights/net_weights_config.json: ";
  EXPECT_EQ(pt2_refusal(R"("use_pickle":false)", R"("use_pickle":true)"),
            table + "config.w: saved with pickle, which is code; wanted a plain tensor");
  EXPECT_EQ(pt2_refusal(R"("path_name":"weight_1")", R"("path_name":"../weight")"),
            table + "config.m: no entry 'm/data/weights/../weight' in the archive");
  EXPECT_EQ(pt2_refusal("EEEEFFFF", "EEEEFFF"),
            "m.pt2: m/data/weights/weight_0: 23 bytes, wanted at least 24 for f32[2]");
  EXPECT_EQ(pt2_refusal(R"("tied":{)", R"("tied2":{)"), "m.pt2: data: no tensor 'tied'");
  EXPECT_EQ(pt2_refusal(R"("storage_offset":{"as_int":4})", R"("storage_offset":{"as_int":3})"),
            "m.pt2: m/models/net.json: graph_module.signature.input_specs[2].parameter.arg: shares "
            "some bytes with 'p_w', wanted all or none");
  EXPECT_EQ(pt2_refusal(R"("storage_offset":{"as_int":4})", R"("storage_offset":{"as_int":-1})"),
            table + "config.v.tensor_meta: storage_offset -1, wanted 0 or more");
  EXPECT_EQ(pt2_refusal(R"("storage_offset":{"as_int":4})",
                        R"("storage_offset":{"as_int":9223372036854775807})"),
            table + "config.v: strides that lead beyond all memory");
  EXPECT_EQ(pt2_refusal(R"("strides":[{"as_int":1},{"as_int":2}])",
                        R"("strides":[{"as_int":9223372036854775807},{"as_int":2}])"),
            table + "config.w: strides that lead beyond all memory");
  EXPECT_EQ(pt2_refusal(R"("strides":[{"as_int":1},{"as_int":2}])",
                        R"("strides":[{"as_int":-1},{"as_int":2}])"),
            table + "config.w.tensor_meta.strides[0]: -1, wanted 0 or more");
  EXPECT_EQ(pt2_refusal(R"("strides":[{"as_int":1},{"as_int":2}])", R"("strides":[])"),
            table + "config.w.tensor_meta.strides: 0 strides, wanted 2");
  EXPECT_EQ(pt2_refusal(with(std::string("\n\0\1\n", 4), std::string("\n\0\2\n", 4))),
            "m.pt2: m/data/constants/tensor_0: a bool of 2, wanted 0 or 1");
  // A stride of 0 over very many elements, in both places.
  std::string huge = R"("b_m":{"dtype":5,"sizes":[{"as_int":1000000000}])";
  std::string text = with(R"("b_m":{"dtype":5,"sizes":[{"as_int":2}])", huge);
  EXPECT_EQ(pt2_refusal(text),
            "m.pt2: m/models/net.json: graph_module.signature.input_specs[3].buffer.arg: "
            "i64[1000000000], but 'm' is saved as i64[2]");
  text = with(
      R"({"dtype":5,"sizes":[{"as_int":2}],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[{"as_int":0}])",
      R"({"dtype":5,"sizes":[{"as_int":1000000000}],"strides":[{"as_int":0}])", text);
  EXPECT_EQ(pt2_refusal(text),
            "m.pt2: m/data/weights/weight_1: 8 bytes for i64[1000000000]: tensors far larger than "
            "the archive");
}

TEST(Pt2, RefusesTypesThatHocketDoesNotHave) {
  const std::string values = "m.pt2: m/models/net.json: graph_module.graph.tensor_values.";
  EXPECT_EQ(pt2_refusal(R"("add":{"dtype":7)", R"("add":{"dtype":10)"),
            values +
                "add.dtype: dtype 10 (complex64), wanted float64, float32, bfloat16, float16, "
                "int64, int32, int16, int8, uint8 or bool");
  EXPECT_EQ(pt2_refusal(R"("add":{"dtype":7)", R"("add":{"dtype":99)"),
            values + "add.dtype: unknown dtype 99");
  EXPECT_EQ(pt2_refusal(R"("add":{"dtype":7,"sizes":[{"as_int":2})",
                        R"("add":{"dtype":7,"sizes":[{"as_expr":{"expr_str":"s0","hint":null}})"),
            values +
                "add.sizes[0]: size 's0' varies, wanted static shapes (export without "
                "dynamic_shapes)");
  EXPECT_EQ(
      pt2_refusal(R"("add":{"dtype":7,"sizes":[{"as_int":2})",
                  R"("add":{"dtype":7,"sizes":[{"as_int":-2})"),
      values + "add.sizes: shape [-2,2], wanted sizes of 0 or more and a product within bounds");
  EXPECT_EQ(pt2_refusal(R"("layout":7)", R"("layout":1)"),
            values + "p_w.layout: layout 1, wanted 7 (strided)");
  EXPECT_EQ(pt2_refusal(R"("as_scalar_type":13)", R"("as_scalar_type":29)").find("float8_e4m3fn") !=
                std::string::npos,
            true);
}

TEST(Pt2, RefusesGraphsThatAreNotSound) {
  const std::string graph = "m.pt2: m/models/net.json: graph_module.graph.";
  const std::string signature = "m.pt2: m/models/net.json: graph_module.signature.";
  EXPECT_EQ(pt2_refusal(R"("other","arg":{"as_tensor":{"name":"p_w"}})",
                        R"("other","arg":{"as_tensor":{"name":"y"}})"),
            graph +
                "nodes[0].inputs[1].arg.as_tensor: reads 'y', which stands later: wanted nodes "
                "in execution order");
  EXPECT_EQ(pt2_refusal(R"("other","arg":{"as_tensor":{"name":"p_w"}})",
                        R"("other","arg":{"as_tensor":{"name":"z"}})"),
            graph + "nodes[0].inputs[1].arg.as_tensor: reads 'z', but there is no such value");
  EXPECT_EQ(pt2_refusal(R"("outputs":[{"as_tensor":{"name":"add"}}])",
                        R"("outputs":[{"as_tensor":{"name":"x"}}])"),
            graph + "nodes[0].outputs[0].as_tensor: a second value 'x'");
  EXPECT_EQ(pt2_refusal(R"("outputs":[{"as_tensor":{"name":"add"}}])",
                        R"("outputs":[{"as_tensor":{"name":"q"}}])"),
            graph + "nodes[0].outputs[0].as_tensor: 'q' is not in tensor_values");
  EXPECT_EQ(pt2_refusal(R"("outputs":[{"as_tensor":{"name":"add"}}])",
                        R"("outputs":[{"as_sym_int":{"as_name":"s0"}}])"),
            graph +
                "nodes[0].outputs[0]: a result that is a size, wanted static shapes (export "
                "without dynamic_shapes)");
  EXPECT_EQ(pt2_refusal(R"("name":"split"})", R"("name":"add"})"),
            graph + "nodes[1]: a second node 'add'");
  EXPECT_EQ(pt2_refusal(R"("as_sym_int":{"as_int":3})", R"("as_sym_int":{"as_name":"s1"})"),
            graph +
                "nodes[2].inputs[11].arg.as_sym_int: size 's1' varies, wanted static shapes "
                "(export without dynamic_shapes)");
  EXPECT_EQ(pt2_refusal(R"({"as_ints":[1,-1]})", R"({"as_graph":{"name":"g","graph":{}}})"),
            graph + "nodes[2].inputs[1].arg: a graph as argument: control flow is not supported");
  EXPECT_EQ(pt2_refusal(R"({"as_ints":[1,-1]})", R"({"as_wonder":1})"),
            graph + "nodes[2].inputs[1].arg: argument of unknown kind 'as_wonder'");
  EXPECT_EQ(pt2_refusal(R"({"as_ints":[1,-1]})", R"({"as_int":1,"as_none":true})"),
            graph + "nodes[2].inputs[1].arg: wanted an object with one key, such as \"as_int\"");
  EXPECT_EQ(pt2_refusal(R"("name":"b","arg")", R"("name":"a","arg")"),
            graph + "nodes[2]: argument 'a' stands there twice");
  EXPECT_EQ(
      pt2_refusal(R"({"user_input":{"arg":{"as_tensor")", R"({"user_input":{"arg":{"as_sym_int")"),
      signature + "input_specs[5].user_input.arg: a number that varies, wanted a tensor");
  EXPECT_EQ(pt2_refusal(R"({"constant_input")", R"({"token")"),
            signature + "input_specs[6]: a token of an effect, wanted tensors and numbers");
  EXPECT_EQ(pt2_refusal(R"({"constant_input")", R"({"custom_obj")"),
            signature + "input_specs[6]: a custom object, wanted tensors and numbers");
  EXPECT_EQ(pt2_refusal(R"("parameter_name":"tied")", R"("parameter_name":"w")"),
            signature + "input_specs[1].parameter.arg: a second input for 'w'");
  EXPECT_EQ(pt2_refusal(R"({"loss_output")", R"({"token")"),
            signature + "output_specs[3]: a token of an effect, wanted tensors");
  EXPECT_EQ(
      pt2_refusal(R"("buffer_name":"m"}},{"user_input)", R"("buffer_name":"n"}},{"user_input)"),
      signature + "output_specs[0].buffer_mutation: no state 'n'");
  EXPECT_EQ(pt2_refusal(R"("user_input_name":"x")", R"("user_input_name":"w")"),
            signature + "output_specs[1].user_input_mutation: no input 'w'");
}

TEST(Pt2, ReadsTheSavedModels) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator(HOCKET_DATA "/pt2")) {
    std::string folder = entry.path();
    if (!fs::exists(folder + "/model.pt2")) continue;
    Pt2 m = read_pt2(folder + "/model.pt2");
    // A program with the model's inputs and outputs; what it computes does not matter.
    Graph g;
    std::vector<Value> values;
    for (const SourceNode& node : m.source.nodes)
      if (node.kind == Kind::placeholder && !node.same_as)
        g.add_input(*node.meta.type, node.name, node.input);
    const SourceNode& output = m.source.nodes.back();
    for (const Argument& a : *output.args[0].as<List>())
      g.add_output("", g.add_input(*m.source.nodes[a.as<Ref>()->node].meta.type, "result",
                                   {.state = true, .kind = StateKind::forwarded}));
    Recording r = read_recording(Program(std::move(g)), m.tensors, folder + "/inputs.safetensors",
                                 folder + "/expected.safetensors");
    ASSERT_EQ(r.batches.size(), 1u) << folder;
    ASSERT_EQ(r.expected.size(), 1u) << folder;
    EXPECT_TRUE(r.expected[0][0][0]) << folder;
    bool tied = std::ranges::any_of(m.source.nodes,
                                    [](const SourceNode& n) { return n.same_as.has_value(); });
    EXPECT_EQ(tied, folder.find("gpt2") != std::string::npos) << folder;
  }
}

}  // namespace
}  // namespace hocket::frontend
