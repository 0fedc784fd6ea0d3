#include "hocket/lower/best_fit.h"

#include <algorithm>
#include <bit>

#include "hocket/plan/plan.h"

namespace hocket {
namespace {

/// Divides bytes into pieces, in use or gaps, without a gap beside a gap or at the end. Gaps of
/// nearly the same size are a class, with a list. All calls cost O(1).
class DividedArena {
 public:
  DividedArena() : pieces_(1), lists_(classes), filled_(classes / 64) {}

  /// Puts a piece into use and returns its number.
  std::uint32_t take(std::int64_t bytes) {
    std::uint32_t p = gap_for(bytes);
    if (p == none) return append(bytes);
    leave_list(p);
    if (std::int64_t rest = pieces_[p].bytes - bytes; rest > 0) {
      pieces_[p].bytes = bytes;
      enter_list(insert({pieces_[p].offset + bytes, rest, p, pieces_[p].after}));
    }
    return p;
  }

  /// Makes a piece a gap, together with gaps beside it.
  void give_back(std::uint32_t p) {
    if (std::uint32_t before = pieces_[p].before; is_gap(before)) {
      leave_list(before);
      pieces_[p].offset = pieces_[before].offset;
      pieces_[p].bytes += pieces_[before].bytes;
      remove(before);
    }
    if (std::uint32_t after = pieces_[p].after; is_gap(after)) {
      leave_list(after);
      pieces_[p].bytes += pieces_[after].bytes;
      remove(after);
    }
    if (pieces_[p].after == none)
      remove(p);
    else
      enter_list(p);
  }

  std::int64_t offset(std::uint32_t p) const { return pieces_[p].offset; }
  std::int64_t most_bytes() const { return most_bytes_; }

 private:
  static constexpr std::uint32_t none = 0;  // piece 0 has no bytes: it closes the ring
  // An octave of sizes has 32 classes, so that sizes in a class differ by 3 % at most.
  static constexpr int octave_bits = 5;
  static constexpr std::uint32_t classes = 64 << octave_bits;
  static constexpr int most_looked_at = 4;

  struct Piece {
    std::int64_t offset = 0, bytes = 0;
    std::uint32_t before = none, after = none;   // the neighbours
    std::uint32_t previous = none, next = none;  // of a gap: in the list of its class
  };

  /// A piece in use names itself as the previous one.
  bool is_gap(std::uint32_t p) const { return pieces_[p].previous != p; }

  static std::uint32_t class_of(std::int64_t bytes) {
    auto units = static_cast<std::uint64_t>(bytes / plan_alignment);
    int octave = std::bit_width(units) - octave_bits - 1;
    if (octave <= 0) return static_cast<std::uint32_t>(units);
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(octave) << octave_bits) +
                                      (units >> octave));
  }

  /// The best of the first few gaps of a class that hold as much.
  std::uint32_t best_of(std::uint32_t of_class, std::int64_t bytes) const {
    std::uint32_t best = none, p = lists_[of_class];
    for (int looked_at = 0; p != none && looked_at < most_looked_at; ++looked_at) {
      const Piece& piece = pieces_[p];
      bool better = best == none || piece.bytes < pieces_[best].bytes ||
                    (piece.bytes == pieces_[best].bytes && piece.offset < pieces_[best].offset);
      if (piece.bytes >= bytes && better) best = p;
      p = piece.next;
    }
    return best;
  }

  std::uint32_t gap_for(std::int64_t bytes) const {
    std::uint32_t c = class_of(bytes);
    if (std::uint32_t p = best_of(c, bytes); p != none) return p;
    ++c;
    std::uint64_t word = filled_[c / 64] & (~std::uint64_t{0} << c % 64);
    for (c /= 64; word == 0; word = filled_[c])
      if (++c == filled_.size()) return none;
    return best_of(c * 64 + static_cast<std::uint32_t>(std::countr_zero(word)), bytes);
  }

  std::uint32_t append(std::int64_t bytes) {
    std::uint32_t last = pieces_[none].before;
    std::int64_t offset = pieces_[last].offset + pieces_[last].bytes;
    most_bytes_ = std::max(most_bytes_, offset + bytes);
    return insert({offset, bytes, last, none});
  }

  std::uint32_t insert(const Piece& piece) {
    auto p = static_cast<std::uint32_t>(pieces_.size());
    if (unused_.empty()) {
      pieces_.push_back(piece);
    } else {
      p = unused_.back();
      unused_.pop_back();
      pieces_[p] = piece;
    }
    pieces_[p].previous = p;
    pieces_[piece.before].after = pieces_[piece.after].before = p;
    return p;
  }

  void remove(std::uint32_t p) {
    pieces_[pieces_[p].before].after = pieces_[p].after;
    pieces_[pieces_[p].after].before = pieces_[p].before;
    unused_.push_back(p);
  }

  void enter_list(std::uint32_t p) {
    Piece& piece = pieces_[p];
    std::uint32_t c = class_of(piece.bytes);
    piece.previous = none;
    piece.next = lists_[c];
    if (piece.next != none) pieces_[piece.next].previous = p;
    lists_[c] = p;
    filled_[c / 64] |= std::uint64_t{1} << c % 64;
  }

  void leave_list(std::uint32_t p) {
    Piece& piece = pieces_[p];
    std::uint32_t c = class_of(piece.bytes);
    if (piece.next != none) pieces_[piece.next].previous = piece.previous;
    if (piece.previous != none)
      pieces_[piece.previous].next = piece.next;
    else if (lists_[c] = piece.next; piece.next == none)
      filled_[c / 64] &= ~(std::uint64_t{1} << c % 64);
    piece.previous = p;
  }

  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> unused_;
  std::vector<std::uint32_t> lists_;   // by class: the first gap
  std::vector<std::uint64_t> filled_;  // a bit for each class that has gaps
  std::int64_t most_bytes_ = 0;
};

}  // namespace

Placement best_fit(const Lifetimes& blocks, std::size_t count) {
  DividedArena arena;
  Placement out{std::vector<std::int64_t>(count), 0};
  std::vector<std::uint32_t> pieces(blocks.by_first.size());
  auto ended = blocks.by_last.begin();
  for (std::size_t i = 0; i < blocks.by_first.size(); ++i) {
    const Lifetime& b = blocks.by_first[i];
    for (; blocks.by_first[*ended].last < b.first; ++ended) arena.give_back(pieces[*ended]);
    pieces[i] = arena.take(b.bytes);
    out.offsets[b.block] = arena.offset(pieces[i]);
  }
  out.bytes = arena.most_bytes();
  return out;
}

}  // namespace hocket
