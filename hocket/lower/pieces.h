#pragma once
// The least memory of values that may, but need not, lie in each other's bytes: a part of
// live_bytes_bound.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hocket/base/disjoint_sets.h"
#include "hocket/lower/storage.h"

namespace hocket {

using PieceNumber = std::uint32_t;

/// Pieces of memory. One may lie in another: a view in what it shows, a value in the bucket whose
/// member it becomes. Whether it does is the plan's choice, so a piece with nothing alive but
/// others that may lie in it takes what these take, or all of it if that is less. A home is there
/// always, and only what has no room in it takes memory.
class Pieces {
 public:
  enum class Kind : std::uint8_t { value, state, bucket, home };

  /// `in`: where it may lie, or nowhere.
  PieceNumber add(std::int64_t bytes, Kind kind, PieceNumber in = nowhere) {
    all_.push_back({bytes, kind, in});
    same_.add();
    return static_cast<PieceNumber>(all_.size() - 1);
  }
  PieceNumber find(PieceNumber p) const { return p == nowhere ? nowhere : same_.find(p); }
  Kind kind(PieceNumber p) const { return all_[p].kind; }
  std::int64_t bytes(PieceNumber p) const { return all_[p].bytes; }
  /// Where it may lie.
  PieceNumber around(PieceNumber p) const { return find(all_[p].in); }
  bool is_in_home(PieceNumber p) const {
    return around(p) != nowhere && kind(around(p)) == Kind::home;
  }
  /// The value that a view of a view shows.
  PieceNumber top(PieceNumber p) const {
    for (PieceNumber q = around(p); q != nowhere && kind(q) <= Kind::state; q = around(q)) p = q;
    return p;
  }

  /// `p`, which must not lie anywhere yet, is a part of `whole` from now on.
  void join(PieceNumber whole, PieceNumber p) { same_.join(whole, p); }
  /// It takes nothing: for where several pieces could hold it.
  void hide(PieceNumber p) {
    all_[p].bytes = 0;
    all_[p].hidden = true;
  }
  bool is_hidden(PieceNumber p) const { return all_[p].hidden; }
  /// May lie in this piece, too. Where that makes two homes of a size, they count together.
  void put(PieceNumber p, PieceNumber in) {
    PieceNumber other = around(p);
    if (other == in) return;
    if (other == nowhere) {
      all_[p].in = in;
    } else if (kind(other) == Kind::home && kind(in) == Kind::home) {
      all_[p].in_several = true;
      all_[other].homes += all_[in].homes;
      same_.join(other, in);
    } else {
      hide(p);
    }
  }

  /// Whether there may be a home where both lie.
  bool may_meet(PieceNumber p, PieceNumber q) const {
    bool several = all_[p].in_several || all_[q].in_several;
    return several ? around(p) == around(q) : all_[p].in == all_[q].in;
  }

  /// A value in this piece comes to life or dies. O(pieces around it whose bytes change).
  void change(PieceNumber p, int alive) {
    all_[p].alive += alive;
    while (p != nowhere) {
      Piece& x = all_[p];
      std::int64_t now = x.kind == Kind::home
                             ? std::max<std::int64_t>(0, x.inside - x.bytes * x.homes)
                         : x.alive > 0 ? x.bytes
                                       : std::min(x.bytes, x.inside);
      std::int64_t more = now - x.taken;
      if (more == 0) return;
      x.taken = now;
      p = around(p);
      (p == nowhere ? total_ : all_[p].inside) += more;
    }
  }
  /// Bytes that all take, besides homes.
  std::int64_t total() const { return total_; }

 private:
  struct Piece {
    std::int64_t bytes;
    Kind kind;
    PieceNumber in;
    bool hidden = false, in_several = false;
    std::int64_t homes = 1;   // of a home: how many it stands for
    int alive = 0;            // values
    std::int64_t inside = 0;  // bytes that pieces take which may lie in it
    std::int64_t taken = 0;
  };
  std::vector<Piece> all_;
  DisjointSets same_;
  std::int64_t total_ = 0;
};

}  // namespace hocket
