#pragma once
// Types, layouts and texts of a plan, each kept once.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/texts.h"
#include "hocket/plan/plan.h"

namespace hocket {

/// Finds or adds entries of a plan's tables. O(size of the entry).
class Tables {
 public:
  explicit Tables(Plan& plan) : plan_(plan) {}
  /// A value in flight has the type that it will arrive with.
  std::uint32_t type(const Type& type);
  std::uint32_t layout(const Layout& layout);
  std::uint32_t reason(std::string_view text);
  const Type& type_at(std::uint32_t i) const { return plan_.types[i]; }
  const Layout& layout_at(std::uint32_t i) const { return plan_.layouts[i]; }
  std::uint32_t row_major(const Type& type) { return layout(Layout::row_major(type.elements())); }

 private:
  Plan& plan_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> types_, layouts_;
  Texts reasons_;
};

/// The same for the labels of one graph.
class Labels {
 public:
  explicit Labels(PlanGraph& graph) : graph_(graph) {}
  std::uint32_t add(TraceLabel label);

 private:
  PlanGraph& graph_;
  Texts known_;
  std::string key_;
};

}  // namespace hocket
