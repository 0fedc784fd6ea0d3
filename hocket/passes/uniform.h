#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For every value: do all ranks of a set of the group hold the same bits of it? They do when it
/// comes from constants, from state and from what collectives give to all of the set alike. State
/// counts as equal when what replaces it is equal; that it starts so, somebody else has to see to.
/// Fed inputs, pieces by rank and whatever depends on them differ. The graph must not be edited
/// while this is in use.
class Uniform {
 public:
  /// O(nodes + uses).
  Uniform(const Graph& g, std::string_view group);
  ~Uniform();
  Uniform(Uniform&&) noexcept;

  bool operator[](Value v) const;
  /// The state that uniform values come from, in this iteration or in earlier ones: they are equal
  /// if it starts equal. O(nodes + uses).
  std::vector<Value> starts_behind(std::span<const Value> values) const;

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace hocket
