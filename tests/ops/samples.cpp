#include "ops/samples.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"

namespace hocket {
namespace {

std::size_t to_size(std::string_view text) {
  return static_cast<std::size_t>(std::atoll(std::string(text).c_str()));
}

Numbers read_numbers(std::string_view line, bool output) {
  std::size_t open = line.find('['), close = line.rfind(']');
  if (open == line.npos || close == line.npos) fail("samples: no list in '{}'", line);
  auto words = split(trim(line.substr(0, open)), ' ');
  if (words.size() != (output ? 4u : 3u)) fail("samples: cannot read '{}'", line);
  Numbers n{.rank = to_size(words[1]), .name = std::string(words[2])};
  if (output) {
    n.index = to_size(words[2]);
    n.tolerance = std::strtod(std::string(words[3]).c_str(), nullptr);
  }
  std::string_view list = trim(line.substr(open + 1, close - open - 1));
  if (list.empty()) return n;
  for (std::string_view element : split(list, ',')) n.elements.emplace_back(trim(element));
  return n;
}

void read_samples(const std::filesystem::path& file, std::vector<Sample>& samples) {
  std::string text = read_file(file.string());
  std::size_t known = samples.size();
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("== ")) {
      std::size_t colon = line.find(": ");
      if (colon == line.npos) fail("samples: cannot read '{}'", line);
      samples.push_back({.file = file.filename().string(),
                         .line = number,
                         .op = std::string(line.substr(3, colon - 3)),
                         .what = std::string(line.substr(colon + 2))});
    } else if (samples.size() == known) {
      continue;  // the head of the file
    } else if (line.starts_with("in ")) {
      samples.back().inputs.push_back(read_numbers(line, false));
    } else if (line.starts_with("out ")) {
      samples.back().outputs.push_back(read_numbers(line, true));
    } else if (samples.back().outputs.empty()) {
      samples.back().program += std::string(line) + "\n";
    }
  }
}

}  // namespace

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> samples = [] {
    std::vector<Sample> all;
    for (const auto& entry : std::filesystem::directory_iterator(HOCKET_SAMPLES))
      if (entry.path().extension() == ".txt") read_samples(entry.path(), all);
    return all;
  }();
  return samples;
}

Tensor to_tensor(const Type& type, const std::vector<std::string>& elements) {
  if (static_cast<std::int64_t>(elements.size()) != type.elements())
    fail("samples: {} elements for {}", elements.size(), to_text(type));
  Tensor t(type);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::string& text = elements[i];
      if constexpr (std::is_same_v<T, Boolean>)
        t.as<T>()[i] = store<T>(text == "true");
      else if constexpr (std::is_integral_v<Compute<T>>)
        t.as<T>()[i] = store<T>(static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10)));
      else
        t.as<T>()[i] = store<T>(std::strtod(text.c_str(), nullptr));
    }
  });
  return t;
}

std::vector<std::vector<Tensor>> inputs_of(const Sample& sample, const Program& program) {
  std::vector<std::vector<Tensor>> inputs;
  for (int rank = 0; rank < program.world->ranks(); ++rank) {
    const Graph& g = program.graph_of(rank);
    std::vector<Tensor>& mine = inputs.emplace_back(g.inputs().size());
    for (const Numbers& given : sample.inputs)
      for (std::size_t i = 0; i < mine.size(); ++i) {
        Value v = g.inputs()[i].value;
        if (given.rank == inputs.size() - 1 && given.name == g.name(v))
          mine[i] = to_tensor(g.type(v), given.elements);
      }
  }
  return inputs;
}

}  // namespace hocket
