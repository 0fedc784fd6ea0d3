#pragma once
// A call that a rank has posted to a round: written by that rank, read by all participants.

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hocket/comm/process_group.h"

namespace hocket::comm {

struct RoundSequence;
struct Segment;
struct PostedCall;

/// One matched call of the ranks of a sequence. Each rank determines its progress from the flags of
/// all participants. Unless a rank takes over work of another, no word is written by two ranks.
struct Round {
  RoundSequence* sequence = nullptr;
  Segment* segment = nullptr;
  PostedCall* first = nullptr;  // by participant
  int participants = 0;

  PostedCall& at(int participant) const;
  std::span<PostedCall> posts() const;
};

/// A place in a list of posts; see List.
struct ListHook {
  PostedCall* before = nullptr;
  PostedCall* after = nullptr;
};

/// How the work of a round is divided: a share for each participant, cut into chunks. Each rank
/// computes the same division. Counted in units (see exchange()).
struct Split {
  std::int64_t units = 0;
  std::int64_t share = 0;    // units per participant; the last shares may be smaller
  std::int64_t chunk = 0;    // units per chunk of a share; the last chunk may be smaller
  std::uint32_t chunks = 0;  // number of chunks of each share, including empty ones
  bool small = true;         // shares are taken over only from ranks that are late
};

/// The part of a call that other ranks read.
struct CallHead {
  struct Range {
    const std::byte* send;
    std::byte* recv;
    std::int64_t count;  // elements of the operand
  };

  std::uint32_t size = 0;  // members
  int peer = 0;
  Kind kind = Kind::barrier;
  Reduce reduce = Reduce::sum;
  DType dtype = DType::f32;
  std::uint64_t order = 0;  // hash of all calls of the rank in this sequence, see IssuedOrder
  const Range* ranges = nullptr;
  Range only{};  // the range, if there is one member
};

/// The memory that the lists of a call take.
struct Room {
  std::size_t name = 0, members = 0, rows = 0;
  friend bool operator==(const Room&, const Room&) = default;
  Room joined(const Room& o) const {
    return {std::max(name, o.name), std::max(members, o.members), std::max(rows, o.rows)};
  }
};

/// For a small call, other ranks read only the first two cache lines: the first is written when the
/// call is posted, the second when the share of its rank is done. Waiting ranks poll these lines,
/// and every poll takes the line away from its writer. So each line is written at once, and flags
/// are not reset: they hold the epoch in which they were set.
struct alignas(64) PostedCall : CallHead {
  // The head is valid once this equals the epoch of its segment.
  std::atomic<std::uint32_t> here{0};

  // The progress of this participant's share. A rank increments `taken` before it works on a chunk
  // and `done` after it. The count is in the lower half of the word, the epoch in the upper half.
  static constexpr std::uint32_t dropped = 1 << 16;  // in `done`: a chunk was dropped
  alignas(64) std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<double> done_at{0};
  double posted_at = 0;

  // Used only by the rank itself, except `round`.
  alignas(64) Round round;
  int participant = 0;  // index in the sequence
  std::uint32_t epoch = 0;
  int seen = 0;      // the participants below this one have all posted
  int finished = 0;  // the shares of the participants below this one are all done
  bool met = false;  // all participants have posted, and their calls agree
  bool settled = false;
  bool heavy = false;        // some of the vectors below are in use
  bool same_bucket = false;  // pays no latency
  std::size_t left = 0;      // in the first call of a segment: rounds it is done with
  ProcessGroup* owner = nullptr;
  ListHook in_flight, unsettled;
  Split split;
  Transfer transfer;

  // The rest of the call; other ranks read it only to say how calls differ.
  std::int64_t channel = 0;
  std::string name;
  std::vector<Range> several;
  std::vector<std::int64_t> rows;  // of an all_to_all: for each member the size of a row, then rows
                                   // sent to and received from each rank
  std::vector<std::unique_ptr<std::byte[]>> copies;  // of operands that results overlap

  std::span<const Range> members() const { return {ranges, size}; }
  /// Calls of this size can be stored without allocating memory.
  void reserve(const Room& room) {
    name.reserve(room.name);
    several.reserve(room.members);
    rows.reserve(room.rows);
  }
  /// Stores a call and returns its head without `order`, to be published. Error for sizes that do
  /// not fit the number of participants.
  CallHead fill(const CollectiveCall& call, int participants);
  /// Makes the call visible to other ranks.
  void publish(const CallHead& head) {
    static_cast<CallHead&>(*this) = head;
    here.store(epoch, std::memory_order_release);
  }
  /// Of an all_to_all: the number of rows of a member that are sent to (or received from) each
  /// rank.
  std::span<const std::int64_t> rows_of(std::size_t member, bool received) const;
  std::int64_t row(std::size_t member) const { return rows[member * rows.size() / size]; }
  std::int64_t bytes() const;  // of all operands
  /// `all_reduce of 64 f32`.
  std::string text() const;
};

inline PostedCall& Round::at(int participant) const { return first[participant]; }
inline std::span<PostedCall> Round::posts() const {
  return {first, static_cast<std::size_t>(participants)};
}

/// An intrusive list of posted calls, linked through one of their hooks; adding and removing is
/// O(1).
template <ListHook PostedCall::*links>
struct List {
  PostedCall* first = nullptr;
  PostedCall* last = nullptr;

  void append(PostedCall& post) {
    post.*links = {last, nullptr};
    (last != nullptr ? (last->*links).after : first) = &post;
    last = &post;
  }
  void remove(PostedCall& post) {
    auto [before, after] = post.*links;
    (before != nullptr ? (before->*links).after : first) = after;
    (after != nullptr ? (after->*links).before : last) = before;
  }
};

}  // namespace hocket::comm
