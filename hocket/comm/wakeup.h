#pragma once
// How a rank waits: it spins for a moment, then sleeps until another rank notifies it.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hocket::comm {

/// Seconds of the steady clock.
inline double now() {
  std::chrono::nanoseconds time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(time.count()) * 1e-9;
}

/// A deadline that starts at its first query, so that a wait that ends at once never reads the
/// clock.
struct Deadline {
  double seconds;
  double at = 0;
  double when() { return at != 0 ? at : at = now() + seconds; }
};

/// Spins until `happened()` and returns true, or returns false after `seconds`.
template <class Condition>
bool spin(Condition happened, double seconds) {
  for (int i = 0; i < 300; ++i)
    if (happened()) return true;
  for (double end = now() + seconds; now() < end;)
    for (int i = 0; i < 30; ++i)
      if (happened()) return true;
  return false;
}

/// Orders the memory accesses of the two sides of a wakeup. The notifier changes the condition and
/// then reads whether the waiter sleeps; the waiter writes that it sleeps and then reads the
/// condition. Both need a full fence between the two steps. Notifying is frequent and sleeping is
/// rare, so the waiter issues a fence for all threads of the process (membarrier) and the notifier
/// needs a compiler fence only. Where the system has no membarrier, both issue a fence of their
/// own.
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

/// Lets other ranks wake one rank. It lives as long as the world. So a notifier need not know what
/// the rank waits for, which may already be freed. Notifiers change the condition, call
/// Fence::before_notify, then notify().
class alignas(64) Wakeup {
 public:
  /// Wakes the rank if it sleeps; costs one load otherwise.
  void notify() {
    if (waiting_.load(std::memory_order_relaxed) != 0) wake();
  }

  /// Sleeps until `happened()`, at most until the time `until`. For the rank itself only.
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
