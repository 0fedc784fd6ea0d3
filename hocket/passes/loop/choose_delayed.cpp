#include "hocket/passes/loop/choose_delayed.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace hocket {
namespace {

constexpr std::size_t most_trials = 16;

/// Simulates an iteration, with a link of the assumed speed.
class Clock {
 public:
  Clock(std::span<const BucketPlace> buckets, std::uint32_t length)
      : buckets_(buckets), length_(length), arrival_(buckets.size()), late_(buckets.size()) {
    double bytes = 0;
    for (const BucketPlace& b : buckets) bytes += b.bytes;
    per_byte_ = bytes > 0 ? length / bytes : 0;
  }

  /// The time of an iteration in steady state.
  double time(std::span<const Delay> delays) {
    lay_out(delays);
    std::ranges::fill(arrival_, 0.0);
    double now = 0, link_free = 0, before = 0;
    for (int iteration = 0; iteration < 3; ++iteration) {
      before = now;
      double at = 0;
      for (const Event& e : events_) {
        now += e.at - at;
        at = e.at;
        double& arrival = arrival_[e.bucket];
        if (e.what == What::start)
          arrival = link_free = std::max(link_free, now) + buckets_[e.bucket].bytes * per_byte_;
        else if (e.what == What::look)
          late_[e.bucket] = arrival > now;
        else
          now = std::max(now, arrival);
      }
      now += length_ - at;
    }
    return now - before;
  }

  /// True if, in the last simulation, the transfer of the bucket ended after the original position
  /// of its update.
  bool late(std::size_t bucket) const { return late_[bucket]; }

 private:
  enum class What : std::uint8_t { start, look, wait };
  struct Event {
    std::uint32_t at;
    What what;
    std::uint32_t
        need;  // position of the first reader, which orders buckets that start at the front
    std::uint32_t bucket;
  };

  void lay_out(std::span<const Delay> delays) {
    events_.clear();
    for (std::uint32_t i = 0; i < buckets_.size(); ++i) {
      const BucketPlace& b = buckets_[i];
      bool stays = delays[i] == Delay::none;
      events_.push_back(delays[i] == Delay::start ? Event{0, What::start, b.needed, i}
                                                  : Event{b.start, What::start, 0, i});
      events_.push_back({stays ? b.update : b.needed, What::wait, 0, i});
      if (delays[i] != Delay::start) events_.push_back({b.update, What::look, 0, i});
    }
    std::ranges::stable_sort(events_, [](const Event& a, const Event& b) {
      return std::tie(a.at, a.what, a.need) < std::tie(b.at, b.what, b.need);
    });
  }

  std::span<const BucketPlace> buckets_;
  double length_;
  double per_byte_;
  std::vector<Event> events_;
  std::vector<double> arrival_;
  std::vector<bool> late_;
};

}  // namespace

std::vector<Delay> choose_delayed(std::span<const BucketPlace> buckets, std::uint32_t length) {
  std::vector<Delay> waits(buckets.size(), Delay::none);
  std::vector<std::size_t> startable;  // ordered by `needed`, latest first
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (buckets[i].fixed || buckets[i].needed <= length / least_part) continue;
    waits[i] = Delay::wait;
    if (buckets[i].startable) startable.push_back(i);
  }
  std::ranges::stable_sort(startable, std::greater(),
                           [&](std::size_t i) { return buckets[i].needed; });

  Clock clock(buckets, length);
  auto with = [&](std::size_t count) {
    std::vector<Delay> delays = waits;
    for (std::size_t i = 0; i < count; ++i) delays[startable[i]] = Delay::start;
    return delays;
  };
  std::size_t trials = std::min(startable.size(), most_trials), best = 0;
  double least = clock.time(waits);
  for (std::size_t trial = 1; trial <= trials; ++trial) {
    std::size_t count = startable.size() * trial / trials;
    double time = clock.time(with(count));
    // Prefers fewer delayed starts, because the simulation is inexact and a delayed start keeps
    // gradients in memory for longer.
    if (time < least * 0.999) {
      least = time;
      best = count;
    }
  }

  std::vector<Delay> delays = with(best);
  clock.time(delays);
  for (std::size_t i = 0; i < delays.size(); ++i)
    if (delays[i] == Delay::wait && !clock.late(i)) delays[i] = Delay::none;
  return delays;
}

}  // namespace hocket
