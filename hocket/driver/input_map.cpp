#include "hocket/driver/input_map.h"

#include <map>
#include <string>

namespace hocket {

InputMap::InputMap(const Program& from, const Program& to) : to_(to) {
  for (std::size_t i = 0; i < to.graphs.size(); ++i) {
    const Graph &a = from.graphs.at(i), &b = to.graphs[i];
    std::map<std::string, std::size_t> known;
    for (std::size_t k = 0; k < a.inputs().size(); ++k)
      known.emplace(a.name(a.inputs()[k].value), k);
    auto& list = table_.emplace_back();
    for (const Input& in : b.inputs()) {
      auto it = known.find(b.name(in.value));
      list.push_back(it == known.end() ? std::nullopt : std::optional(it->second));
    }
  }
}

InputTables InputMap::apply(const InputTables& tables) const {
  InputTables result;
  for (std::size_t r = 0; r < tables.size(); ++r) {
    auto& row = result.emplace_back();
    for (std::optional<std::size_t> at : of(to_.graph_index(static_cast<int>(r))))
      row.push_back(at ? tables[r].at(*at) : Tensor{});
  }
  return result;
}

}  // namespace hocket
