#pragma once
// Where calls of ranks meet in order: the rounds of a group, or of a pair in it.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hocket/comm/round.h"

namespace hocket::comm {

/// Some rounds that follow one another, and are used again together. Nothing in them is reset: what
/// was written in an earlier lap is not `here`.
struct Segment {
  static constexpr std::size_t length = 16;  // rounds

  Segment(Lane& lane, std::size_t seats);

  std::uint32_t lap = 1;
  std::atomic<Segment*> next{nullptr};
  std::unique_ptr<Post[]> posts;     // round after round, by seat
  std::atomic<std::size_t> left{0};  // seats
};

/// A list of segments that grows at its end while any rank runs ahead. A rank walks it alone; only
/// what happens once per segment is shared.
struct Lane {
  /// Seats are `members`, indices in `group_ranks`.
  Lane(std::string group, const std::vector<int>& group_ranks, std::vector<int> members);

  std::string group;         // its name
  std::vector<int> members;  // by seat: index in the group
  std::vector<int> ranks;    // by seat: of the world

  /// Where the next call of `seat` goes. `advance` when it has gone there.
  Post& next(int seat) const {
    const Place& place = places_[static_cast<std::size_t>(seat)];
    return place.segment->posts[place.round * ranks.size() + static_cast<std::size_t>(seat)];
  }
  void advance(int seat);
  /// The rank of `p` needs its round no more. The last one to leave a segment hands it back.
  void leave(Post& p);

  List<&Post::unsettled>& unsettled(int seat) {
    return places_[static_cast<std::size_t>(seat)].unsettled;
  }

 private:
  /// Of one seat; only its rank looks.
  struct alignas(64) Place {
    Segment* segment;
    std::size_t round = 0;
    List<&Post::unsettled> unsettled{};
  };

  Segment* take();
  void give(Segment* segment);

  std::vector<Place> places_;
  alignas(64) std::atomic<Segment*> spare_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Segment>> all_;
  std::vector<Segment*> idle_;  // besides the spare one
};

}  // namespace hocket::comm
