#include "hocket/comm/lane.h"

namespace hocket::comm {

Segment::Segment(Lane& lane, std::size_t seats) : posts(std::make_unique<Post[]>(length * seats)) {
  for (std::size_t i = 0; i < length * seats; ++i) {
    posts[i].round = {&lane, this, &posts[i / seats * seats], static_cast<int>(seats)};
    posts[i].seat = static_cast<int>(i % seats);
  }
}

Lane::Lane(std::string named, const std::vector<int>& group_ranks, std::vector<int> of)
    : group(std::move(named)), members(std::move(of)) {
  for (int index : members) ranks.push_back(group_ranks[static_cast<std::size_t>(index)]);
  places_.assign(ranks.size(), {take()});
}

void Lane::advance(int seat) {
  Place& place = places_[static_cast<std::size_t>(seat)];
  if (++place.round < Segment::length) return;
  Segment* following = place.segment->next.load(std::memory_order_acquire);
  if (following == nullptr) {
    Segment* fresh = take();
    if (place.segment->next.compare_exchange_strong(following, fresh))
      following = fresh;
    else
      give(fresh);  // another rank was faster, and `following` is its segment
  }
  place.segment = following;
  place.round = 0;
}

void Lane::leave(Post& p) {
  // Its rank has the first post of a segment as long as any other, so that one counts.
  Segment& segment = *p.round.segment;
  Post& counter = segment.posts[static_cast<std::size_t>(p.seat)];
  if (++counter.left < Segment::length) return;
  counter.left = 0;
  if (segment.left.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks.size()) return;
  ++segment.lap;
  segment.next.store(nullptr, std::memory_order_relaxed);
  segment.left.store(0, std::memory_order_relaxed);
  give(&segment);
}

Segment* Lane::take() {
  if (Segment* spare = spare_.exchange(nullptr)) return spare;
  std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    Segment* segment = idle_.back();
    idle_.pop_back();
    return segment;
  }
  return all_.emplace_back(std::make_unique<Segment>(*this, ranks.size())).get();
}

void Lane::give(Segment* segment) {
  if (Segment* none = nullptr; spare_.compare_exchange_strong(none, segment)) return;
  std::lock_guard lock(mutex_);
  idle_.push_back(segment);
}

}  // namespace hocket::comm
