#pragma once
// How a rank waits: it spins for a moment, then rests on its wakeup until another rank rings.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hocket::comm {

/// Seconds of the steady clock.
inline double now() {
  std::chrono::nanoseconds time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(time.count()) * 1e-9;
}

/// Counts from when somebody first asks, because a wait that need not wait should not read a clock.
struct Deadline {
  double seconds;
  double at = 0;
  double when() { return at != 0 ? at : at = now() + seconds; }
};

/// True as soon as `happened()`; false after `seconds`.
template <class Condition>
bool spin(Condition happened, double seconds) {
  for (int i = 0; i < 300; ++i)
    if (happened()) return true;
  for (double end = now() + seconds; now() < end;)
    for (int i = 0; i < 30; ++i)
      if (happened()) return true;
  return false;
}

/// Whoever rings first changes what the other waits for, then looks whether that one rests; who
/// rests first says so, then looks for the change. Between the two steps both need a fence. Ringing
/// is frequent and resting rare, so the fence of the one who rests is one for all threads of the
/// process (membarrier), and who rings only keeps the compiler from mixing the steps up. Where the
/// system has no such fence, both fence for themselves.
class Fence {
 public:
  Fence();
  void before_notify() const {
    if (symmetric_)
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void before_wait() const;

 private:
  bool symmetric_;
};

/// One per rank, as old as the world: so whoever rings need not know what the rank waits for, and
/// what it waits for may go away. Wakers change their condition first, fence, then ring.
class alignas(64) Wakeup {
 public:
  /// Wakes the rank when it rests; a load otherwise.
  void notify() {
    if (waiting_.load(std::memory_order_relaxed) != 0) wake();
  }

  /// Until `happened()`, or the clock says `until`. Only the rank itself may rest.
  template <class Condition>
  bool wait(const Fence& fence, Condition happened, double until) {
    while (true) {
      waiting_.store(1);
      fence.before_wait();
      std::uint32_t seen = notified_.load();
      double left = happened() ? 0 : until - now();
      if (left > 0) sleep(seen, left);
      waiting_.store(0);
      if (left <= 0 || happened()) return happened();
    }
  }

 private:
  void wake();
  void sleep(std::uint32_t seen, double seconds);

  std::atomic<std::uint32_t> notified_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace hocket::comm
