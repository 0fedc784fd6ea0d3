#include "tests/comm/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <thread>

#include "tests/comm/part.h"

namespace hocket::comm {
namespace {

TestWorld one_process(int ranks, double deadline) {
  TestWorld world;
  world.hosts.push_back(std::make_unique<InProcess>(ranks, InProcessOptions{deadline}));
  return world;
}

/// As two processes would host them: the odd ranks and the even ones.
TestWorld two_parts(int ranks, double deadline) {
  auto whole = std::make_shared<InProcess>(ranks, InProcessOptions{deadline});
  std::vector<int> parts[2];
  for (int r = 0; r < ranks; ++r) parts[r % 2].push_back(r);
  TestWorld world;
  for (const std::vector<int>& hosted : parts)
    if (!hosted.empty()) world.hosts.push_back(std::make_unique<Part>(whole, hosted));
  return world;
}

/// Appends a thread for each rank that the transport hosts.
void host(Transport& transport, const std::function<void(int)>& body, Messages& messages,
          std::vector<std::jthread>& threads) {
  for (int rank : transport.hosted()) {
    std::string& message = messages[rank];
    threads.emplace_back([&body, &transport, &message, rank] {
      try {
        body(rank);
      } catch (const std::exception& e) {
        message = e.what();
        transport.fail(rank, std::current_exception());
      }
    });
  }
}

}  // namespace

const std::vector<TransportKind>& transport_kinds() {
  static const std::vector<TransportKind> kinds{{"in_process", one_process},
                                                {"two_parts", two_parts}};
  return kinds;
}

Transport& TestWorld::host_of(int rank) const {
  for (const auto& host : hosts)
    if (std::ranges::find(host->hosted(), rank) != host->hosted().end()) return *host;
  throw std::logic_error("a rank that nobody hosts here");
}

Messages run_ranks(const TestWorld& world, const std::function<void(int)>& body) {
  Messages messages;
  std::vector<std::jthread> threads;
  for (const auto& transport : world.hosts) host(*transport, body, messages, threads);
  threads.clear();  // joins
  for (const auto& transport : world.hosts) transport->close();
  return messages;
}

Messages run_ranks(Transport& transport, const std::function<void(int)>& body) {
  Messages messages;
  std::vector<std::jthread> threads;
  host(transport, body, messages, threads);
  threads.clear();  // joins
  return messages;
}

void expect_no_errors(const Messages& messages) {
  for (const auto& [rank, message] : messages) EXPECT_EQ(message, "") << "rank " << rank;
}

void expect_told(const Messages& messages, int rank, std::string_view text) {
  if (auto found = messages.find(rank); found != messages.end()) {
    EXPECT_EQ(found->second, text) << "rank " << rank;
  }
}

}  // namespace hocket::comm
