#include "support/golden_files.h"

#include <algorithm>
#include <filesystem>

#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {

namespace fs = std::filesystem;

Golden read_golden(const std::string& path) {
  std::string text = read_file(path);
  Golden golden;
  std::size_t at = 0;
  while (at < text.size() && text[at] == '#') {
    std::size_t end = text.find('\n', at) + 1;
    std::string_view line(text.data() + at, end - at);
    constexpr std::string_view key = "# passes:";
    if (line.starts_with(key)) golden.passes = trim(line.substr(key.size()));
    golden.remarks = golden.remarks || trim(line) == "# remarks";
    golden.phases = golden.phases || trim(line) == "# show: phases";
    golden.head += line;
    at = end;
  }
  std::size_t split = text.find("\n===\n", at);
  if (split == text.npos) split = text.size() - 1;
  golden.input = text.substr(at, split + 1 - at);
  if (split + 5 <= text.size()) golden.expected = text.substr(split + 5);
  return golden;
}

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(HOCKET_GOLDEN_DIR))
    if (entry.path().extension() == ".hkt") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

std::string golden_name(const std::string& path) {
  return fs::relative(path, HOCKET_GOLDEN_DIR).replace_extension().string();
}

bool can_be_run(const Program& program) {
  return std::ranges::all_of(program.graphs, [](const Graph& g) {
    bool small = true;
    for (NodeId n : g.nodes()) {
      const Node& node = g[n];
      small = small && !(node.op == &ops::constant && !node.attr<std::string>("ref").empty());
      for (Value v : g.results(n)) small = small && g.type(v).elements() < 1 << 20;
    }
    return small;
  });
}

bool is_plain(const Program& program) {
  return std::ranges::all_of(program.graphs,
                             [](const Graph& g) {
                               bool plain = std::ranges::none_of(g.inputs(), [](const Input& in) {
                                 return in.kind == StateKind::forwarded;
                               });
                               for (NodeId n : g.nodes()) plain = plain && g[n].delay == 0;
                               return plain;
                             }) &&
         can_be_run(program);
}

}  // namespace hocket::testing
