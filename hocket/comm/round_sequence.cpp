#include "hocket/comm/round_sequence.h"

#include <algorithm>

namespace hocket::comm {

Segment::Segment(RoundSequence& sequence, std::size_t participants)
    : posts(std::make_unique<PostedCall[]>(length * participants)) {
  for (std::size_t i = 0; i < length * participants; ++i) {
    posts[i].round = {&sequence, this, &posts[i / participants * participants],
                      static_cast<int>(participants)};
    posts[i].participant = static_cast<int>(i % participants);
  }
}

RoundSequence::RoundSequence(std::string named, const std::vector<int>& group_ranks,
                             std::vector<int> of)
    : group(std::move(named)), members(std::move(of)) {
  for (int index : members) ranks.push_back(group_ranks[static_cast<std::size_t>(index)]);
  room_.resize(ranks.size());
  expected_.resize(ranks.size());
  positions_.assign(ranks.size(), {take()});
}

void RoundSequence::expect(int participant, const Room& room) {
  std::lock_guard lock(mutex_);
  auto me = static_cast<std::size_t>(participant);
  if (Room grown = room_[me].joined(room); grown != room_[me]) {
    room_[me] = grown;
    for (const auto& segment : all_)
      for (std::size_t i = me; i < Segment::length * ranks.size(); i += ranks.size())
        segment->posts[i].reserve(grown);
  }
  // A rank posts at most as many rounds ahead of another as it has calls in flight, and that one
  // may be as many rounds late with leaving them. Several ranks may take a new segment at once.
  std::size_t most = ++expected_[me];
  for (std::size_t calls : expected_) most = std::max(most, calls);
  std::size_t wanted = (2 * most + Segment::length - 1) / Segment::length + 2;
  wanted += std::min<std::size_t>(ranks.size() - 1, 3);
  while (all_.size() < wanted) idle_.push_back(make());
}

/// With the mutex held.
Segment* RoundSequence::make() {
  Segment* segment = all_.emplace_back(std::make_unique<Segment>(*this, ranks.size())).get();
  for (std::size_t i = 0; i < Segment::length * ranks.size(); ++i)
    segment->posts[i].reserve(room_[i % ranks.size()]);
  idle_.reserve(all_.size());
  return segment;
}

void RoundSequence::advance(int participant) {
  Position& place = positions_[static_cast<std::size_t>(participant)];
  if (++place.round < Segment::length) return;
  Segment* following = place.segment->next.load(std::memory_order_acquire);
  if (following == nullptr) {
    Segment* fresh = take();
    if (place.segment->next.compare_exchange_strong(following, fresh))
      following = fresh;
    else
      give(fresh);  // another rank has appended a segment first; `following` is now that segment
  }
  place.segment = following;
  place.round = 0;
}

void RoundSequence::leave(PostedCall& p) {
  // The count is kept in the rank's first call of the segment, which stays in use as long as any
  // other.
  Segment& segment = *p.round.segment;
  PostedCall& counter = segment.posts[static_cast<std::size_t>(p.participant)];
  if (++counter.left < Segment::length) return;
  counter.left = 0;
  if (segment.left.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks.size()) return;
  ++segment.epoch;
  segment.next.store(nullptr, std::memory_order_relaxed);
  segment.left.store(0, std::memory_order_relaxed);
  give(&segment);
}

Segment* RoundSequence::take() {
  if (Segment* spare = spare_.exchange(nullptr)) return spare;
  std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    Segment* segment = idle_.back();
    idle_.pop_back();
    return segment;
  }
  return make();
}

void RoundSequence::give(Segment* segment) {
  if (Segment* none = nullptr; spare_.compare_exchange_strong(none, segment)) return;
  std::lock_guard lock(mutex_);
  idle_.push_back(segment);
}

}  // namespace hocket::comm
