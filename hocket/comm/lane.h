#pragma once
// Where calls of ranks meet in order: the rounds of a group, or of a pair in it.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "hocket/comm/round.h"

namespace hocket::comm {

/// A list of rounds that grows at its end while any rank runs ahead, and whose rounds are used
/// again. A rank walks it alone; only adding a round is a race.
struct Lane {
  /// `ranks`: of the world, one for each seat.
  explicit Lane(std::vector<int> ranks);

  std::vector<int> ranks;

  /// Where the next call of `seat` goes.
  Round& next(int seat) { return *places_[static_cast<std::size_t>(seat)].next; }
  /// Returns that round and goes on to the one behind it.
  Round& advance(int seat);
  /// `seat` needs the round no more; the last one hands it back.
  void leave(Round& round);

 private:
  struct alignas(64) Place {
    Round* next;
  };

  Round* take();
  void give(Round* round);

  std::vector<Place> places_;  // by seat; only that rank looks
  alignas(64) std::array<std::atomic<Round*>, 4> spare_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Round>> all_;
  std::vector<Round*> idle_;  // that found no place in spare_
};

}  // namespace hocket::comm
