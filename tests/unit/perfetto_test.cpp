// Traces for viewers: arrows that run forwards, and drains by their name.

#include "hocket/report/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>

namespace hocket {
namespace {

RankTrace one_transfer(const Span& transfer, const Span& wait) {
  RankTrace r;
  r.lanes = {"compute", "dp"};
  r.labels = {{"%h", "all_reduce", ""}, {"%n", "neg", ""}};
  r.steps = {{0, 1e-3, 4, 0}, {1e-3, 2e-3, 4, 1}};
  r.spans = {{SpanKind::start, 0, 0, 4, 1e-4, 2e-4, 0, 0, -1},
             wait,
             transfer,
             {SpanKind::kernel, 0, 1, 4, 6e-4, 7e-4, 0, -1, 0}};
  return r;
}

/// Times of the stops of all arrows, in the order written.
std::vector<double> stops(const std::string& text) {
  std::vector<double> times;
  static const std::regex stop(R"re("ph":"[stf]","pid":0,"tid":[0-9]+,"ts":([0-9.e+-]+))re");
  for (std::sregex_iterator it(text.begin(), text.end(), stop), end; it != end; ++it)
    times.push_back(std::stod((*it)[1]));
  return times;
}

TEST(Perfetto, ArrowsRunForwards) {
  Span early{SpanKind::transfer, 1, 0, 4, 1.5e-4, 5e-4, 8, 0, -1};  // while its start still runs
  Span late{SpanKind::transfer, 1, 0, 4, 4.9e-4, 5e-4, 8, 0, -1};   // behind the middle of the wait
  Span wait{SpanKind::wait, 0, 0, 4, 2e-4, 5e-4, 0, 0, -1};
  for (const Span& transfer : {early, late}) {
    std::vector<double> times = stops(to_perfetto({{one_transfer(transfer, wait)}}));
    ASSERT_EQ(times.size(), 4);  // start, transfer, wait, reader
    EXPECT_EQ(std::ranges::adjacent_find(times, std::greater_equal<>()), times.end());
  }
}

TEST(Perfetto, DrainsAreNoIterations) {
  Span nothing{SpanKind::kernel, 0, 1, 4, 0, 0, 0, -1, -1};
  std::string text = to_perfetto({{one_transfer(nothing, nothing)}});
  EXPECT_NE(text.find("\"name\":\"iteration 4\""), text.npos);
  EXPECT_NE(text.find("\"name\":\"drain 1\""), text.npos);
  EXPECT_EQ(text.find("\"name\":\"iteration 5\""), text.npos);
}

TEST(Perfetto, CountersOfBytes) {
  Span nothing{SpanKind::kernel, 0, 1, 4, 0, 0, 0, -1, -1};
  RankTrace rank = one_transfer(nothing, nothing);
  rank.counters = {{CounterKind::live_bytes, 1e-4, 4096}, {CounterKind::bytes_in_flight, 2e-4, 64}};
  std::string text = to_perfetto({{rank}});
  for (const char* wanted :
       {R"("ph":"C","pid":0,"tid":0,"ts":100.0,"name":"live bytes","args":{"bytes":4096})",
        R"("ph":"C","pid":0,"tid":0,"ts":200.0,"name":"bytes in flight","args":{"bytes":64})"})
    EXPECT_NE(text.find(wanted), text.npos) << text;
}

}  // namespace
}  // namespace hocket
