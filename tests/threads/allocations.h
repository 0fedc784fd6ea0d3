#pragma once
// What `new` gives while a test looks.

#include <array>
#include <atomic>
#include <cstddef>

namespace hocket::testing {

/// Notes every allocation from its construction on, of this thread or of all threads. One object at
/// a time of each sort.
class Allocations {
 public:
  enum class Of { this_thread, all_threads };
  explicit Allocations(Of of);
  ~Allocations() { stop(); }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  void stop();
  /// Bytes that our code asked for, itself or through the standard library.
  std::size_t ours() const { return sum(true); }
  /// Bytes that other libraries asked for.
  std::size_t others() const { return sum(false); }

  /// For `new`.
  void note(std::size_t bytes, const void* caller);

 private:
  struct One {
    std::size_t bytes;
    const void* caller;
  };
  std::size_t sum(bool ours) const;

  Of of_;
  std::atomic<std::size_t> count_{0};
  std::array<One, 4096> list_;
};

}  // namespace hocket::testing
