#pragma once
// A call as one rank brought it to a round: written by that rank, read by all.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hocket/comm/process_group.h"

namespace hocket::comm {

struct Round;
struct Post;

/// A place in a list of posts; see List.
struct Links {
  Post* before = nullptr;
  Post* after = nullptr;
};

/// How the work of a round is cut: every seat has a share of it, and every share some chunks. Each
/// rank finds the same by itself. In units, see exchange().
struct Split {
  std::int64_t units = 0;
  std::int64_t share = 0;    // of each seat, from the first on, as far as there are units
  std::int64_t chunk = 0;    // as far as there is share
  std::uint32_t chunks = 0;  // of each share, some of them perhaps empty
  bool small = true;         // not worth taking over, unless its rank is busy elsewhere
};

/// What others read on the way of a small call are the first two cache lines: the first moves to
/// them when the rank comes, the second when its share is done.
struct alignas(64) Post {
  struct Range {
    const std::byte* send;
    std::byte* recv;
    std::int64_t count;  // elements of the operand
  };

  // The call, good for others once `here` is the lap of its segment.
  std::atomic<std::uint32_t> here{0};
  std::uint32_t size = 0;  // members
  int peer = 0;
  Kind kind = Kind::barrier;
  Reduce reduce = Reduce::sum;
  DType dtype = DType::f32;
  std::int64_t channel = 0;
  double came_at = 0;
  const Range* ranges = nullptr;
  Range only{};  // where there is one member

  // The share of this seat. Whoever takes a chunk adds to `taken` before and to `done` after.
  static constexpr std::uint32_t dropped = 1 << 16;  // in `done`: taken, but not carried out
  alignas(64) std::atomic<std::uint32_t> taken{0};
  std::atomic<std::uint32_t> done{0};
  std::atomic<double> done_at{0};

  // The rest of the call.
  alignas(64) Round* round = nullptr;
  int seat = 0;  // index in the lane
  std::uint32_t lap = 0;
  std::vector<Range> several;
  std::vector<std::int64_t> rows;  // all_to_all, by member: elements of a row, rows sent, received
  std::vector<std::unique_ptr<std::byte[]>> copies;  // of operands that results overlap
  std::string name;

  // Of the rank alone.
  ProcessGroup* owner = nullptr;
  Links in_flight, unsettled;
  std::size_t left = 0;  // in the first round of a segment: rounds of it that the rank has left
  int seen = 0;          // seats that are here, all in front of this one
  int finished = 0;      // seats whose share is done, all in front of this one
  bool met = false;      // all are here and agree, and `split` is known
  bool settled = false;
  Split split;
  Transfer transfer;

  std::span<const Range> members() const { return {ranges, size}; }
  /// Takes over a call of a rank with this seat, in a group of `seats`; refuses one that makes no
  /// sense.
  void fill(const Call& call, int seats);
  /// Of an all_to_all, by rank: rows of a member that go there, or come from there.
  std::span<const std::int64_t> rows_of(std::size_t member, bool received) const;
  std::int64_t row(std::size_t member) const { return rows[member * rows.size() / size]; }
  std::int64_t bytes() const;  // of all operands
  /// `all_reduce of 64 f32`.
  std::string text() const;
};

/// A list of posts through one of their Links; adding and removing is O(1).
template <Links Post::*links>
struct List {
  Post* first = nullptr;
  Post* last = nullptr;

  void append(Post& post) {
    post.*links = {last, nullptr};
    (last != nullptr ? (last->*links).after : first) = &post;
    last = &post;
  }
  void remove(Post& post) {
    auto [before, after] = post.*links;
    (before != nullptr ? (before->*links).after : first) = after;
    (after != nullptr ? (after->*links).before : last) = before;
  }
};

}  // namespace hocket::comm
