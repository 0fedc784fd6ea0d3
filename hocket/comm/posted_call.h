#pragma once
// A call as one rank brought it to a round: written by that rank, read by all.

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

/// One meeting of the ranks of a sequence. Every rank follows it by itself, from the flags of all
/// participants: there is no word that two ranks write while things go well.
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

/// How the work of a round is cut: every participant has a share of it, and every share some
/// chunks. Each rank finds the same by itself. In units, see exchange().
struct Split {
  std::int64_t units = 0;
  std::int64_t share = 0;    // of each participant, from the first on, as far as there are units
  std::int64_t chunk = 0;    // as far as there is share
  std::uint32_t chunks = 0;  // of each share, some of them perhaps empty
  bool small = true;         // not worth taking over, unless its rank is busy elsewhere
};

/// What a rank tells the others about its call.
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
  std::int64_t channel = 0;
  const Range* ranges = nullptr;
  Range only{};  // where there is one member
};

/// What others read on the way of a small call are the first two cache lines: the first moves to
/// them when the rank comes, the second when its share is done. Those who wait look at a line all
/// the time, and each look takes it away from who is to write there; so a line is written at one
/// go, and what was written in an earlier epoch is not reset but told apart by its epoch.
struct alignas(64) PostedCall : CallHead {
  // The head is good for others once this is the epoch of its segment.
  std::atomic<std::uint32_t> here{0};

  // The share of this participant. Whoever takes a chunk counts it in `taken` before and in `done`
  // after, both in the lower half of the word, behind the epoch.
  static constexpr std::uint32_t dropped = 1 << 16;  // in `done`: taken, but not carried out
  alignas(64) std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<double> done_at{0};
  double posted_at = 0;

  // Of the rank alone, but for `round`.
  alignas(64) Round round;
  int participant = 0;  // index in the sequence
  std::uint32_t epoch = 0;
  int seen = 0;      // participants that are here, all in front of this one
  int finished = 0;  // participants whose share is done, all in front of this one
  bool met = false;  // all are here and agree
  bool settled = false;
  bool heavy = false;        // some of the lists below are in use
  bool same_bucket = false;  // pays no latency
  std::size_t left = 0;      // in the first round of a segment: rounds of it that the rank has left
  ProcessGroup* owner = nullptr;
  ListHook in_flight, unsettled;
  Split split;
  Transfer transfer;

  // The rest of the call.
  std::string name;
  std::vector<Range> several;
  std::vector<std::int64_t> rows;  // all_to_all, by member: elements of a row, rows sent, received
  std::vector<std::unique_ptr<std::byte[]>> copies;  // of operands that results overlap

  std::span<const Range> members() const { return {ranges, size}; }
  /// Takes over a call of a rank with this participant, in a group of `participants`, but for its
  /// head, which it returns; refuses one that makes no sense.
  CallHead fill(const CollectiveCall& call, int participants);
  /// From now on the rank is here.
  void publish(const CallHead& head) {
    static_cast<CallHead&>(*this) = head;
    here.store(epoch, std::memory_order_release);
  }
  /// Of an all_to_all, by rank: rows of a member that go there, or come from there.
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

/// A list of posts through one of their ListHook; adding and removing is O(1).
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
