#pragma once
// Values without numbers: what a value is computed from, as a term. Equal terms are equal numbers,
// bit for bit, on every rank.

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/base/small_vector.h"
#include "hocket/check/rank_functions.h"

namespace hocket::check {

using TermId = std::uint32_t;

/// Elements of a term: consecutive ones from `first` on, or element `first` again and again. On
/// each rank `first` is larger by the offset there.
struct Piece {
  TermId term = 0;
  Offset offset = 0;
  std::int64_t first = 0, count = 0;
  bool repeated = false;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// A value as the list of its elements, row-major: a concatenation of pieces. No piece is empty or
/// could be joined with the next one, so that equal lists are equal values.
using Elements = SmallVector<Piece, 1>;

std::int64_t elements_in(const Elements& elements);

/// What a term is.
enum class TermKind : std::uint8_t {
  constant,     ///< dtype, bits
  source,       ///< an input, a state, a constant of the table: what, graph, index, iteration
  elementwise,  ///< op, attributes, dtype, pieces: element i is the op of elements i of them
  kernel,       ///< op, attributes, types, number of the result, pieces
  view,         ///< piece, axes: elements of a piece in another order, see Values::view
  pack,         ///< pieces: a value of several pieces as one
  reduced,      ///< group, reduction, piece: element i is reduced over the ranks of the group
  moved,        ///< group, index, piece: the element of the rank with this index in the group
  exchanged,    ///< any other result of a collective: op, group, attributes, pieces of ranks
};

struct TermFacts {
  Partition equal_on = 0;  ///< the ranks on which it is equal
  bool single = false;     ///< it has one element, and every index means that
  bool packed = false;     ///< made of elements of a pack, one by one
  bool doubtful = false;   ///< there may be another term for the same value
};

/// Terms, each kept once. A term is written as words of 64 bits.
class Terms {
 public:
  Terms();
  /// The term with this kind and these words. O(words).
  TermId intern(TermKind kind, std::span<const std::uint64_t> words, TermFacts facts);

  TermKind kind(TermId t) const { return terms_[t].kind; }
  const TermFacts& facts(TermId t) const { return terms_[t].facts; }
  std::span<const std::uint64_t> words(TermId t) const {
    return std::span(words_).subspan(terms_[t].from, terms_[t].size);
  }
  /// Who made it first: whatever `maker` was at that time.
  std::uint32_t maker_of(TermId t) const { return terms_[t].maker; }
  std::uint32_t maker = 0;

 private:
  struct Term {
    std::size_t from;
    std::uint32_t size, hash, maker;
    TermKind kind;
    TermFacts facts;
  };
  void grow();

  std::vector<Term> terms_;
  std::vector<std::uint64_t> words_;
  std::vector<TermId> table_;  // by hash, open; 0 is free
};

}  // namespace hocket::check
