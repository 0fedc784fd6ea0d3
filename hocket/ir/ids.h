#pragma once
// Handles into a Graph. They stay valid in a copy of the graph and are never reused.

#include <compare>
#include <cstdint>
#include <functional>

namespace hocket {

struct NodeId {
  std::uint32_t index = 0;
  explicit operator bool() const { return index != 0; }
  friend auto operator<=>(NodeId, NodeId) = default;
};

struct Value {
  std::uint32_t index = 0;
  explicit operator bool() const { return index != 0; }
  friend auto operator<=>(Value, Value) = default;
};

}  // namespace hocket

template <>
struct std::hash<hocket::NodeId> {
  std::size_t operator()(hocket::NodeId n) const { return n.index; }
};
template <>
struct std::hash<hocket::Value> {
  std::size_t operator()(hocket::Value v) const { return v.index; }
};
