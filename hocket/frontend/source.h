#pragma once
// The graph of the source, read from any format: calls of PyTorch operators on named values.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket::frontend {

struct Argument;
using List = std::vector<Argument>;

/// A value of an earlier node, by its index in `Source::nodes`, or one of its results.
struct Ref {
  std::uint32_t node = 0;
  std::int32_t result = -1;  ///< of a node with several results, where the source names it directly
};

/// A Python slice `a:b:c`; omitted parts are none.
struct Slice {
  List parts;  ///< three
};

struct Dict {
  std::vector<std::pair<std::string, Argument>> entries;
};

/// A device, a layout or a memory format, which have no meaning here.
struct Ignored {};

/// One argument of a call. The alternatives are those that the formats can write.
struct Argument : std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, Ref,
                               List, Ignored, Slice, Dict> {
  using variant::variant;
  template <class T>
  const T* as() const {
    return std::get_if<T>(this);
  }
  bool none() const { return index() == 0; }
};

/// The type and strides of one result in the source; without a type if it is not a tensor.
struct Meta {
  std::optional<Type> type;
  Ints strides;
  std::vector<Meta> list;  ///< of several results, nested as they are
};

struct SourceNode {
  enum class Kind : std::uint8_t { placeholder, constant, call, output };
  Kind kind = Kind::call;
  std::string name;
  std::string target;  ///< of a call: `aten.add.Tensor`; of a constant: its name in the table
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> kwargs;
  Meta meta;         ///< of a placeholder and a constant always a tensor
  std::string path;  ///< module path, where the source knows it

  // of a placeholder
  InputInfo input = {};
  /// For a placeholder that shares the storage of an earlier one, the index of that one.
  std::optional<std::uint32_t> same_as = {};
};

/// A result that the source writes back into a state or input at the end, without an operator call.
struct Mutation {
  Ref value;
  std::uint32_t placeholder = 0;
};

struct Source {
  std::string where;  ///< starts every message
  int world_size = 1;
  std::vector<SourceNode> nodes;  ///< in execution order; the output last
  /// Names of the outputs, when the source has any.
  std::vector<std::string> output_names;
  std::vector<Mutation> mutations;
  std::map<std::string, Tensor, std::less<>> constants;
  /// Sets of ranks by the name of a process group, where the file gives them.
  std::map<std::string, std::vector<std::vector<int>>, std::less<>> groups;
  /// True if the graph will be differentiated, so that `detach` has an effect.
  bool differentiable = false;

  bool has_paths() const {
    return std::ranges::any_of(nodes, [](const SourceNode& n) { return !n.path.empty(); });
  }
};

}  // namespace hocket::frontend
