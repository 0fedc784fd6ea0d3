// Fuzzes the reader of torch.export archives: whole archives as bytes, and archives made here of
// entries given as text, so that edits get past the checksums. It refuses with one line, or gives a
// sound source with a value for each state and constant.

#include "hocket/frontend/formats/pt2.h"

#include "fuzz.h"
#include "hocket/base/error.h"
#include "require.h"
#include "support/source_check.h"
#include "support/zip.h"

namespace hocket::fuzz {
namespace {

using frontend::Archive;
using frontend::Pt2;
using frontend::SourceNode;
using testing::zip_of_text;

void require_values(const Pt2& model) {
  for (const SourceNode& node : model.source.nodes) {
    if (node.kind == SourceNode::Kind::constant)
      require(model.source.constants.contains(node.target), "a constant without a value");
    if (!node.input.state) continue;
    auto value = model.tensors.find(node.name);
    require(value != model.tensors.end(), "a state without a value");
    require(value->second.type() == *node.meta.type, "a value of another type");
  }
}

Outcome check(std::string_view input) {
  std::string bytes = input.starts_with("=== ") ? zip_of_text(input) : std::string(input);
  try {
    Pt2 model = read_pt2(Archive::parse(std::move(bytes), "fuzz"), "fuzz");
    must("the source", [&] {
      testing::require_sound(model.source);
      require_values(model);
    });
    return {true, testing::features(model.source)};
  } catch (const Error& e) {
    require_one_line(e.what(), "fuzz: ");
    return {false, e.what()};
  }
}

std::vector<std::string> corpus() {
  std::vector<std::string> inputs = read_corpus(HOCKET_SOURCE_DIR "/tests/fuzz/pt2", ".txt");
  std::vector<std::string> archives;
  for (const std::string& text : inputs) archives.push_back(zip_of_text(text));
  inputs.insert(inputs.end(), archives.begin(), archives.end());
  return inputs;
}

std::vector<std::string> dictionary() {
  std::vector<std::string> words{"\n=== ",
                                 "byteorder",
                                 "little",
                                 "big",
                                 " deflated",
                                 "models/",
                                 "data/weights/",
                                 "\"as_expr\":{\"expr_str\":\"s0\"}",
                                 "\"use_pickle\":true",
                                 "\"path_name\":",
                                 "\"config\":",
                                 "\"tensor_meta\":",
                                 "\"sizes\":",
                                 "\"strides\":",
                                 "\"dtype\":",
                                 "\"outputs\":",
                                 "\"inputs\":",
                                 "\"name\":",
                                 "\"arg\":",
                                 "\"token\":",
                                 "\"custom_obj\":",
                                 "\"parameter_mutation\":",
                                 "\"user_output\":",
                                 "\"gradient_to_user_input\":",
                                 "\"layout\":",
                                 "{\"as_int\":0}",
                                 "{\"as_int\":-1}",
                                 "{\"as_int\":9223372036854775807}",
                                 "null",
                                 "true",
                                 "-1",
                                 "1.5",
                                 "{}",
                                 "[]"};
  for (const char* kind : {"tensor",
                           "tensors",
                           "int",
                           "ints",
                           "float",
                           "floats",
                           "bool",
                           "bools",
                           "string",
                           "none",
                           "scalar_type",
                           "sym_int",
                           "sym_ints",
                           "optional_tensor",
                           "optional_tensors",
                           "graph",
                           "complex",
                           "custom_obj",
                           "nested_tensors",
                           "int_lists",
                           "string_to_argument",
                           "name"})
    words.push_back(fmt::format("\"as_{}\":", kind));
  return words;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  return fuzz_main(
      argc, argv,
      {.corpus = corpus(), .dictionary = dictionary(), .target = check, .usual_size = 12 << 10});
}
