#pragma once
// The ranks of a world as threads, over any transport.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hocket/comm/in_process.h"

namespace hocket::comm {

/// A world as a test sees it: the transports that host ranks of it in this process, all of them or
/// some.
struct TestWorld {
  std::vector<std::unique_ptr<Transport>> hosts;

  int ranks() const { return hosts[0]->ranks(); }
  Transport& host_of(int rank) const;
  void fail(int rank, const std::exception_ptr& cause) const { host_of(rank).fail(rank, cause); }
  std::unique_ptr<ProcessGroup> all(int rank) const { return host_of(rank).all(rank); }
  std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                      std::span<const int> list) const {
    return host_of(rank).group(rank, name, list);
  }
};

/// A kind of transport. Every test of the suite runs over each kind.
struct TransportKind {
  std::string name;
  std::function<TestWorld(int ranks, double deadline)> make;

  TestWorld open(int ranks, double deadline = 60) const { return make(ranks, deadline); }
};
const std::vector<TransportKind>& transport_kinds();
/// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_kind(const ::testing::TestParamInfo<TransportKind>& tested) {
  return tested.param.name;
}

/// By rank that is hosted here: what it was told, or "".
using Messages = std::map<int, std::string>;

/// Runs `body` as every rank that is hosted here; what it throws fails the rank. Then closes the
/// transports.
Messages run_ranks(const TestWorld& world, const std::function<void(int)>& body);
/// The same over one transport, which stays open.
Messages run_ranks(Transport& transport, const std::function<void(int)>& body);

void expect_no_errors(const Messages& messages);
/// What a rank was told, where it is hosted here.
void expect_told(const Messages& messages, int rank, std::string_view text);

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
