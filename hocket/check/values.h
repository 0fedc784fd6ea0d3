#pragma once
// What can be done with values that are terms: elements in another order, one behind the other, and
// operations element by element.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "hocket/check/terms.h"
#include "hocket/ir/op.h"
#include "hocket/ops/layout.h"

namespace hocket::check {

/// Instead of a root: a reduction whose result all ranks get.
inline constexpr std::int64_t everywhere = -1;

/// The sets of a group, among the ranks of one graph.
struct Sets {
  std::size_t size = 1;                ///< ranks of a set
  std::vector<std::uint32_t> members;  ///< by rank: those of its set, in order
  std::vector<std::uint32_t> index;    ///< by rank: its place in the set

  std::size_t ranks() const { return index.size(); }
  std::uint32_t member(std::size_t rank, std::size_t i) const { return members[rank * size + i]; }
};

/// A result is the same list of pieces whichever way leads to it, as far as this knows the ways:
///
///     a slice of an elementwise result      the result on slices of its operands
///     a view of a view                      one view
///     all pieces of a value side by side    the value
///
/// Where there may be another way, terms are `doubtful`.
class Values {
 public:
  Terms terms;
  RankFunctions ranks;
  std::vector<Sets> groups;  ///< by the number that terms have for a group

  /// All elements of a term.
  Elements whole(TermId term, std::int64_t count);
  Elements constant(DType dtype, std::span<const std::byte> bits, std::int64_t count);
  bool is_constant(const Piece& p) const { return terms.kind(p.term) == TermKind::constant; }

  /// Appends elements, joined with the last piece where they continue it.
  void append(Elements& to, const Piece& piece);
  void append(Elements& to, const Elements& from) {
    for (const Piece& p : from) append(to, p);
  }
  /// `count` elements from one on.
  Elements range(const Elements& x, std::int64_t first, std::int64_t count);
  /// The same from the first one on, further on by an offset on each rank.
  Elements shifted(const Elements& x, std::int64_t first, Offset offset, std::int64_t count);
  /// Element k of the result is element first + layout(k).
  Elements view(const Elements& x, std::int64_t first, const Layout& layout);
  /// The same elements, where a part of a view is a view, or a range, by itself.
  Elements direct(const Elements& x);
  /// A part of a view that is no view by itself. Something else may show the same elements.
  bool is_odd_part(const Piece& p) const;
  /// One element, again and again.
  Elements repeated(const Elements& x, std::int64_t count);

  /// An op with a body, on operands of `count` elements.
  Elements elementwise(const Op& op, std::uint32_t attributes, DType dtype,
                       std::span<const Elements* const> operands, std::int64_t count);
  /// Reduced over the ranks of a group, in their order: on all of them, or only on the one with
  /// the index `root`.
  Elements reduced(std::uint32_t group, std::uint64_t reduction, std::int64_t root,
                   const Elements& x);
  /// As it is on the rank with this index in the group.
  Elements moved(std::uint32_t group, std::size_t index, const Elements& x);

  /// True if it is equal on all ranks of each set.
  bool equal_in(std::uint32_t group, const Elements& x);
  bool equal_in(std::uint32_t group, Partition p);
  /// Equal on the ranks of each set, and on no others. The sets must have members.
  Partition one_per_set(std::uint32_t group);

  /// Words that stand for elements in a term, and what is known about a term of them.
  static void add_words(std::vector<std::uint64_t>& words, const Elements& x);
  TermFacts facts_of(const Elements& x);

  /// Attributes by content.
  std::uint32_t number_of(const Attributes& attributes);
  const Attributes& attributes(std::uint32_t number) const { return *attributes_[number]; }

  /// The pieces that a term is computed from; none where it has none.
  std::vector<Piece> operands_of(TermId t) const;

 private:
  using Head = std::array<std::uint64_t, 3>;
  struct Order;  // of the elements of a view

  Piece cut(const Piece& p, std::int64_t first, std::int64_t count);
  Elements view_of_piece(const Piece& p, std::int64_t first, const Layout& layout);
  Piece ordered(const Piece& p, const Layout& layout, bool doubtful);
  Piece alias_of(const Piece& p) const;
  Order order_of(TermId view) const;
  std::optional<std::pair<Piece, Layout>> through(const Piece& p, std::int64_t first,
                                                  const Layout& layout) const;
  Elements by_elements(TermKind kind, const Head& head, std::span<const Elements* const> operands,
                       std::int64_t count);
  TermId element_term(TermKind kind, const Head& head, std::span<const Piece> pieces,
                      const Piece* base);
  TermId folded(const Head& head, TermId made, std::span<const Piece> pieces);
  TermFacts facts_of(const Piece& p);
  static TermFacts joined(RankFunctions& ranks, TermFacts a, TermFacts b);
  Partition moved(std::uint32_t group, std::size_t index, Partition p);
  Partition reduced(std::uint32_t group, Partition p);
  Elements fixed(std::uint32_t group, const Elements& x);
  Piece packed(const Elements& x);
  Elements resolved(const Piece& p);
  void note_alias(const Piece& p);

  std::vector<std::uint64_t> words_;
  std::vector<const Attributes*> attributes_;
  std::unordered_map<const void*, std::uint32_t> attribute_objects_;
  std::map<std::string, std::uint32_t> attribute_texts_;
  std::map<std::tuple<TermId, std::int64_t, std::int64_t>, Piece> aliases_;
  std::unordered_map<TermId, TermId> folded_;
  std::map<std::tuple<std::uint32_t, std::size_t, Partition>, Partition> moved_;
};

}  // namespace hocket::check
