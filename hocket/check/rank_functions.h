#pragma once
// Numbers that depend on the rank, among the ranks of one graph.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hocket::check {

/// A function of the rank, as a number. 0 is the one that is 0 everywhere.
using Offset = std::uint32_t;
/// Which ranks have equal values, as a number. 0: all of them.
using Partition = std::uint32_t;

/// Functions and partitions, each kept once. Ranks are numbered within their graph.
class RankFunctions {
 public:
  RankFunctions() : offsets_(1), partitions_(1) {}

  /// Splits a function into its value on the first rank and the rest, which is 0 there.
  std::pair<std::int64_t, Offset> offset(std::vector<std::int64_t> values);
  Offset difference(Offset a, Offset b);
  Offset sum(Offset a, Offset b);
  std::int64_t at(Offset f, std::size_t rank) const { return f == 0 ? 0 : offsets_[f][rank]; }

  /// Ranks with equal labels have equal values.
  Partition partition(std::span<const std::uint32_t> labels);
  std::uint32_t label(Partition p, std::size_t rank) const {
    return p == 0 ? 0 : partitions_[p][rank];
  }
  /// Ranks are equal where they are in both.
  Partition meet(Partition a, Partition b);
  /// Ranks on which the function is equal.
  Partition of(Offset f);
  Partition each(std::size_t ranks);  ///< every rank differs

 private:
  template <class T>
  using Known = std::map<std::vector<T>, std::uint32_t>;

  Offset intern(std::vector<std::int64_t> values);

  std::vector<std::vector<std::int64_t>> offsets_;
  std::vector<std::vector<std::uint32_t>> partitions_;
  Known<std::int64_t> known_offsets_;
  Known<std::uint32_t> known_partitions_;
  std::map<Offset, Partition> partition_of_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sums_, differences_, meets_;
};

}  // namespace hocket::check
