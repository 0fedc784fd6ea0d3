#include "support/sources.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace hocket::testing {

namespace fs = std::filesystem;

std::vector<std::string> sources() {
  std::vector<std::string> all{HOCKET_SOURCE_DIR "/examples/mlp"};
  for (const fs::path& root : {fs::path(HOCKET_SOURCE_DIR) / "tests/data", fs::path(HOCKET_DATA)})
    for (const char* kind : {"captures", "pt2"}) {
      if (!fs::exists(root / kind)) continue;
      for (const auto& entry : fs::directory_iterator(root / kind))
        if (entry.is_directory()) all.push_back(entry.path().string());
    }
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> sources_and_graphs() {
  std::vector<std::string> all = sources();
  if (fs::path graphs = fs::path(HOCKET_DATA) / "graphs"; fs::exists(graphs))
    for (const auto& entry : fs::directory_iterator(graphs))
      if (entry.is_directory()) all.push_back(entry.path().string());
  std::ranges::sort(all);
  return all;
}

std::string source_name(const std::string& source) {
  fs::path path(source);
  bool ours = !source.starts_with(HOCKET_DATA);
  std::string name = path.parent_path().filename().string() + "_" + path.filename().string();
  name += ours ? "" : "_further";
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace hocket::testing
