#pragma once
// What the bytes of an arena hold, as far as safety goes.

#include <cstdint>
#include <map>
#include <span>

#include "hocket/check/parts.h"

namespace hocket::check {

/// Which bytes are written, and by which write. Each write is known by its range: a later write of
/// the same range leaves nothing of it.
class WrittenBytes {
 public:
  void write(Range r);
  /// The bytes are undefined from here on.
  void forget(Range r);
  void keep_only(std::span<const Range> ranges);  ///< disjoint and ascending

  enum class Finding : std::uint8_t { whole, undefined, torn };
  /// A value is torn when some bytes of an earlier write are left in it, and others were
  /// overwritten.
  Finding read(Range r) const;

  friend bool operator==(const WrittenBytes&, const WrittenBytes&) = default;

 private:
  struct Piece {
    std::int64_t end;
    Range written;  // by the write of which this is left
    friend bool operator==(Piece, Piece) = default;
  };
  using Pieces = std::map<std::int64_t, Piece>;  // by first byte

  Pieces::iterator erase(Range r);
  Finding read_pieces(Range r, Pieces::const_iterator from) const;

  Pieces pieces_;
};

/// Ranges that may overlap and come and go.
class CountedRanges {
 public:
  void add(Range r);
  void remove(Range r);
  bool meet(Range r) const;

 private:
  struct Piece {
    std::int64_t end;
    std::int64_t count;
  };
  std::map<std::int64_t, Piece>::iterator split(std::int64_t at);
  std::map<std::int64_t, Piece> pieces_;  // by first byte
};

}  // namespace hocket::check
