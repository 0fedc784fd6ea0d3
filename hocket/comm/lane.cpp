#include "hocket/comm/lane.h"

namespace hocket::comm {

Lane::Lane(std::vector<int> of) : ranks(std::move(of)) { places_.assign(ranks.size(), {take()}); }

Round& Lane::advance(int seat) {
  Round*& mine = places_[static_cast<std::size_t>(seat)].next;
  Round* current = mine;
  Round* following = current->next.load(std::memory_order_acquire);
  if (following == nullptr) {
    Round* fresh = take();
    if (current->next.compare_exchange_strong(following, fresh))
      following = fresh;
    else
      give(fresh);  // another rank was faster, and `following` is its round
  }
  mine = following;
  return *current;
}

void Lane::leave(Round& round) {
  if (round.left.fetch_add(1, std::memory_order_acq_rel) + 1 < round.seats) return;
  round.reset();
  give(&round);
}

Round* Lane::take() {
  for (auto& place : spare_)
    if (place.load(std::memory_order_relaxed) != nullptr)
      if (Round* round = place.exchange(nullptr)) return round;
  std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    Round* round = idle_.back();
    idle_.pop_back();
    return round;
  }
  return all_.emplace_back(std::make_unique<Round>(*this, static_cast<int>(ranks.size()))).get();
}

void Lane::give(Round* round) {
  for (auto& place : spare_) {
    Round* none = nullptr;
    if (place.load(std::memory_order_relaxed) == nullptr &&
        place.compare_exchange_strong(none, round))
      return;
  }
  std::lock_guard lock(mutex_);
  idle_.push_back(round);
}

}  // namespace hocket::comm
