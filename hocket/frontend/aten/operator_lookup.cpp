#include "hocket/frontend/aten/operator_lookup.h"

#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

class OperatorTable {
 public:
  OperatorTable() {
    for (std::span<const Row> family : rows())
      for (const Row& r : family) index_.emplace(r.target, &r);
  }

  Found find(std::string_view target) const {
    using enum Found::Form;
    if (auto it = index_.find(target); it != index_.end()) return {it->second};
    std::size_t dot = target.rfind('.');  // space.name.overload
    if (dot == target.npos) return {};
    std::string_view name = target.substr(0, dot), overload = target.substr(dot);
    if (name.ends_with('_'))
      return {find_plain(name.substr(0, name.size() - 1), overload), in_place};
    if (overload == ".out") {
      const Row* row = find_plain(name, ".default");
      return {row != nullptr ? row : find_plain(name, ".Tensor"), out};
    }
    if (overload.ends_with("_out"))
      return {find_plain(name, overload.substr(0, overload.size() - 4)), out};
    if (name.ends_with("_copy"))
      return {find_plain(name.substr(0, name.size() - 5), overload), copied};
    return {};
  }

 private:
  const Row* find_plain(std::string_view name, std::string_view overload) const {
    // In the overload names of in-place forms the word for the tensor may be missing, in those with
    // `out` the word for dimensions.
    std::vector<std::string> overloads{std::string(overload)};
    if (overload == ".Tensor") overloads.insert(overloads.end(), {".default", ".Tensor_Tensor"});
    if (overload == ".Scalar") overloads.emplace_back(".Tensor_Scalar");
    if (overload == ".IntList") overloads.emplace_back(".dim_IntList");
    if (overload == ".int") overloads.emplace_back(".dim_int");
    for (const std::string& o : overloads)
      if (auto it = index_.find(std::string(name) + o); it != index_.end()) return it->second;
    // The result of `x_copy` is copied in any case, so it is translated by the row of `x`.
    if (name.ends_with("_copy")) return find_plain(name.substr(0, name.size() - 5), overload);
    return nullptr;
  }

  std::unordered_map<std::string_view, const Row*> index_;
};

/// True for the legacy collectives, which return work handles. These cannot be represented here.
bool is_legacy_collective(std::string_view target) {
  return target.starts_with("c10d.") || target.find("comm_result") != target.npos ||
         target.find("wait_comm") != target.npos;
}

}  // namespace

std::string where_of(const SourceNode& node) {
  return node.path.empty() ? fmt::format("'{}'", node.name)
                           : fmt::format("'{}' in {}", node.name, node.path);
}

std::vector<Found> find_rows(const Source& source) {
  OperatorTable table;
  std::vector<Found> found(source.nodes.size());
  std::string problems;
  std::size_t count = 0;
  for (std::size_t i = 0; i < source.nodes.size(); ++i) {
    const SourceNode& node = source.nodes[i];
    if (node.kind != SourceNode::Kind::call) continue;
    found[i] = table.find(node.target);
    std::string_view reason;
    if (is_legacy_collective(node.target))
      reason =
          "the CommTensor dialect passes work handles between nodes; capture with functional "
          "collectives";
    else if (found[i].row == nullptr)
      reason = "unknown operator";
    else
      reason = found[i].row->refusal;
    if (reason.empty()) continue;
    if (++count <= 20)
      problems += fmt::format("{}{} ({}): {}", problems.empty() ? "" : "; ", where_of(node),
                              node.target, reason);
  }
  if (count > 20) problems += fmt::format("; and {} more", count - 20);
  if (count > 0) fail("{}: {}", source.where, problems);
  return found;
}

}  // namespace hocket::frontend
