#pragma once
// Ranks as threads, for tests.

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hocket/comm/in_process.h"

namespace hocket::comm {

/// Runs `body` as every rank; what it throws fails the rank. Returns the message of each, or "".
inline std::vector<std::string> run_ranks(InProcess& world, const std::function<void(int)>& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(world.ranks()));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world.ranks(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const std::exception& e) {
        messages[static_cast<std::size_t>(rank)] = e.what();
        world.fail(rank, std::current_exception());
      }
    });
  threads.clear();  // joins
  return messages;
}

/// Splits of a seed that are the same everywhere.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// `--faults N --seed S`: the exit code.
int run_faults(int runs, std::uint64_t seed);

}  // namespace hocket::comm
