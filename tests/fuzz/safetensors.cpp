// Fuzzes the reader of safetensors: it refuses with one line, or what it accepts can be loaded,
// written and read again.

#include "hocket/frontend/formats/safetensors.h"

#include <cstring>

#include "fuzz.h"
#include "hocket/base/error.h"
#include "require.h"

namespace hocket::fuzz {
namespace {

using Tensors = std::map<std::string, Tensor, std::less<>>;

/// An input that starts like a header is one, up to an empty line; the data follows. So an edit of
/// the header does not only break its length.
std::string file_of(std::string_view input) {
  if (!input.starts_with('{')) return std::string(input);
  constexpr std::string_view end = "\n\n";
  std::size_t at = std::min(input.find(end), input.size());
  std::uint64_t length = at;
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  file += input.substr(0, at);
  file += input.substr(std::min(at + end.size(), input.size()));
  return file;
}

Outcome check(std::string_view input) {
  Safetensors file;
  try {
    file = Safetensors::parse(file_of(input), "fuzz");
  } catch (const Error& e) {
    require_one_line(e.what(), "fuzz: ");
    return {false, e.what()};
  }
  std::string seen;
  Tensors tensors = must("loading", [&] {
    Tensors all;
    for (const auto& [name, type] : file.types()) {
      Tensor t = file.load(name);
      require(t.type() == type, "a tensor of another type");
      seen += fmt::format("{} {}\n", hocket::name(type.dtype), std::string(type.shape.size(), 'x'));
      all.emplace(name, std::move(t));
    }
    return all;
  });
  must("writing", [&] {
    std::string bytes = safetensors_bytes(tensors);
    Safetensors again = Safetensors::parse(bytes, "again");
    require(again.types() == file.types(), "other tensors");
    for (const auto& [name, t] : tensors) require(same_bits(again.load(name), t), "other values");
    require(safetensors_bytes(tensors) == bytes, "other bytes");
  });
  return {true, seen};
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, int begin,
                  int end) {
  return fmt::format("\"{}\":{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", name,
                     dtype, shape, begin, end);
}

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  Tensors all;
  for (const DTypeRow& row : dtype_rows()) {
    Tensor t(Type{.dtype = *find_dtype(row.name), .shape = {2, 1}});
    std::memset(t.bytes().data(), 1, t.bytes().size());
    all.emplace(row.name, t);
    files.push_back(safetensors_bytes({{std::string(row.name), t}}));
    files.push_back("{" + entry("w", row.name, "[2]", 0, 2 * row.bits / 8) + "}\n\n" +
                    std::string(static_cast<std::size_t>(2 * row.bits / 8), '\0'));
  }
  files.push_back(safetensors_bytes(all));
  files.push_back(safetensors_bytes({}));
  files.push_back("{}");
  files.push_back("{\"__metadata__\":{\"format\":\"pt\"}," + entry("a", "F32", "[1,1]", 2, 6) +
                  ",\n" + entry("b", "BOOL", "[2]", 0, 2) + ",\n" + entry("e", "I64", "[0]", 2, 2) +
                  "}  \n\n" + std::string("\0\1\0\0\0\0", 6));
  return files;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  std::vector<std::string> words{"F64",
                                 "F32",
                                 "BF16",
                                 "F16",
                                 "I64",
                                 "I32",
                                 "I16",
                                 "I8",
                                 "U8",
                                 "BOOL",
                                 "\"dtype\":",
                                 "\"shape\":",
                                 "\"data_offsets\":",
                                 "__metadata__",
                                 "{}",
                                 "[]",
                                 "[0,0]",
                                 "\n\n",
                                 "-1",
                                 "4",
                                 "8",
                                 "0",
                                 "1e3",
                                 "null",
                                 "9223372036854775807",
                                 "18446744073709551615",
                                 "4294967296",
                                 "\\u0000",
                                 "\\n",
                                 std::string(7, '\0'),
                                 "{\"a\":"};
  return fuzz_main(argc, argv, {.corpus = corpus(), .dictionary = words, .target = check});
}
