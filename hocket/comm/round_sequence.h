#pragma once
// Matches the calls of ranks in the order in which they are started: the rounds of a group, or of a
// pair of its ranks.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hocket/comm/issued_order.h"
#include "hocket/comm/round_work.h"

namespace hocket::comm {

/// Consecutive rounds that are recycled together. Flags are not reset between uses: each holds the
/// epoch in which it was set, and a flag of an earlier epoch counts as not set.
struct Segment {
  static constexpr std::size_t length = 16;  // rounds

  Segment(RoundSequence& sequence, std::size_t participants);

  std::uint32_t epoch = 1;
  std::atomic<Segment*> next{nullptr};
  std::unique_ptr<PostedCall[]> posts;  // round after round, by participant
  std::atomic<std::size_t> left{0};     // participants
};

/// A list of segments, which grows when a rank runs ahead. Each rank advances independently, and
/// ranks synchronise only once per segment.
struct RoundSequence {
  /// Participants are `members`, indices in `group_ranks`.
  RoundSequence(std::string group, const std::vector<int>& group_ranks, std::vector<int> members);

  std::string group;         // its name
  std::vector<int> members;  // by participant: index in the group
  std::vector<int> ranks;    // by participant: of the world

  /// Where the next call of `participant` is posted; call advance() after that.
  PostedCall& next(int participant) const {
    const Position& place = positions_[static_cast<std::size_t>(participant)];
    return place.segment->posts[place.round * ranks.size() + static_cast<std::size_t>(participant)];
  }
  void advance(int participant);
  /// What `participant` has posted; for its own thread, or while that sleeps.
  IssuedOrder& issued(int participant) {
    return positions_[static_cast<std::size_t>(participant)].issued;
  }
  /// One more call of this participant may be in flight, of this size. None is yet.
  void expect(int participant, const Room& room);
  /// The rank of `p` is done with its round. The last rank to leave a segment recycles it.
  void leave(PostedCall& p);

  List<&PostedCall::unsettled>& unsettled(int participant) {
    return positions_[static_cast<std::size_t>(participant)].unsettled;
  }

 private:
  /// The position of one participant, used only by its rank.
  struct alignas(64) Position {
    Segment* segment;
    std::size_t round = 0;
    List<&PostedCall::unsettled> unsettled{};
    IssuedOrder issued{};
  };

  Segment* take();
  void give(Segment* segment);
  Segment* make();

  std::vector<Position> positions_;
  alignas(64) std::atomic<Segment*> spare_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Segment>> all_;
  std::vector<Segment*> idle_;         // besides the spare one
  std::vector<Room> room_;             // by participant: for each of its calls
  std::vector<std::size_t> expected_;  // by participant: calls in flight at most
};

}  // namespace hocket::comm
