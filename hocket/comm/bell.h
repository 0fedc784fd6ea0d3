#pragma once
// How a rank sleeps: it spins for a moment, then rests on its bell until another rank rings.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace hocket::comm {

/// Seconds of the steady clock.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Counts from when somebody first asks, because a wait that need not wait should not read a clock.
struct Deadline {
  double seconds;
  double at = 0;
  double when() { return at != 0 ? at : at = now() + seconds; }
};

/// One per rank, as old as the world: so whoever rings need not know what the rank waits for, and
/// what it waits for may go away. Wakers change their condition first (seq_cst), then ring.
class alignas(64) Bell {
 public:
  /// Wakes the rank when it sleeps; a load otherwise.
  void ring() {
    if (sleeping_.load() != 0) wake();
  }

  /// Until `happened()`, or the clock says `until`. Only the rank itself may wait.
  template <class Condition>
  bool wait(Condition happened, Deadline& deadline, double spin) {
    for (int i = 0; i < 100; ++i)
      if (happened()) return true;
    for (double end = std::min(now() + spin, deadline.when()); now() < end;)
      for (int i = 0; i < 30; ++i)
        if (happened()) return true;
    while (true) {
      sleeping_.store(1);
      std::uint32_t seen = rung_.load();
      double left = happened() ? 0 : deadline.when() - now();
      if (left > 0) sleep(seen, left);
      sleeping_.store(0);
      if (left <= 0 || happened()) return happened();
    }
  }

 private:
  void wake();
  void sleep(std::uint32_t seen, double seconds);

  std::atomic<std::uint32_t> rung_{0};
  std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace hocket::comm
