#pragma once
// Private to the files of the safety check.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hocket/check/check.h"

namespace hocket::check {

/// From `begin` to before `end`, in bytes of the arena.
struct Range {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool overlaps(Range o) const { return begin < o.end && o.begin < end; }
  friend bool operator==(Range, Range) = default;
};

/// From the lowest to the highest byte of a location.
Range range_of(const Plan& plan, const Location& location);

/// An instruction of a graph.
struct Place {
  std::size_t graph = 0, phase = 0, instruction = 0;
  friend bool operator==(Place, Place) = default;
};
const Instruction& at(const Plan& plan, Place place);
/// `steady: f32[4] @0 = neg(f32[4] @64)`.
std::string text_of(const Plan& plan, Place place);
/// `graph step`, or `rank 3`.
std::string graph_text(const Plan& plan, std::size_t graph);

/// Bytes that keep a value from one phase to the next, homes and members of carried transfers:
/// disjoint and ascending.
std::vector<Range> kept_ranges(const Plan& plan, std::size_t graph);

/// The rules about the bytes of one graph, and about waiting for its transfers.
std::optional<Refutation> find_in_memory(const Plan& plan, std::size_t graph);
/// The rules about calls of different ranks.
std::optional<Refutation> find_between_ranks(const Plan& plan, LaunchOrder order);

}  // namespace hocket::check
