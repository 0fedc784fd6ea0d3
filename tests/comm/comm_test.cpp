// Every call, dtype, reduction and shape of group against plain loops, over every transport.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <set>
#include <tuple>

#include "hocket/base/error.h"
#include "tests/comm/reference.h"

namespace hocket::comm {
namespace {

using Counts = std::vector<std::int64_t>;
enum class Place { apart, same, at_piece };

/// One call of all ranks of a group, with operands that every rank can make by itself.
struct Case {
  Kind kind;
  DType dtype;
  Reduce reduce;
  Counts counts;  // multiples of the group's size where the kind wants that
  Place place;
  std::uint64_t seed;
};

bool reduces(Kind k) {
  return k == Kind::all_reduce || k == Kind::reduce || k == Kind::reduce_scatter;
}

std::vector<Case> all_cases(const std::vector<Counts>& lists) {
  std::vector<Case> cases;
  for (Kind kind : {Kind::all_reduce, Kind::reduce, Kind::all_gather, Kind::reduce_scatter,
                    Kind::all_to_all, Kind::broadcast, Kind::barrier})
    for (std::size_t d = 0; d < dtype_rows().size(); ++d)
      for (Reduce reduce : {Reduce::sum, Reduce::avg, Reduce::min, Reduce::max, Reduce::product}) {
        if (reduce != Reduce::sum && !reduces(kind)) continue;
        for (const Counts& counts : lists)
          for (Place place : {Place::apart, Place::same, Place::at_piece})
            cases.push_back({kind, static_cast<DType>(d), reduce, counts, place, cases.size()});
      }
  return cases;
}

/// A call in flight with its memory and what must come out.
class Flight {
 public:
  Flight(ProcessGroup& group, const Case& c) : case_(c) {
    auto ranks = static_cast<std::size_t>(group.size()),
         me = static_cast<std::size_t>(group.index());
    int root = static_cast<int>(c.seed % ranks);
    std::size_t unit = static_cast<std::size_t>(bytes(c.dtype));
    for (std::size_t m = 0; m < c.counts.size() && c.kind != Kind::barrier; ++m) {
      std::int64_t count = c.counts[m];
      if (c.kind == Kind::reduce_scatter || c.kind == Kind::all_to_all)
        count *= static_cast<std::int64_t>(ranks);
      std::vector<Bytes> operands;
      for (std::size_t r = 0; r < ranks; ++r)
        operands.push_back(random_elements(c.dtype, count, mix(c.seed) + mix(m * 64 + r)));
      wanted_.push_back(expected(c.kind, c.dtype, c.reduce, root, me, operands));
      std::size_t sent = operands[me].size(), got = wanted_.back().size();
      std::size_t send_at = 0, recv_at = 0;
      if (c.place == Place::apart) recv_at = sent;
      if (c.place == Place::at_piece) {
        send_at = c.kind == Kind::all_gather ? me * sent : 0;
        recv_at = c.kind == Kind::reduce_scatter ? me * got : 0;
      }
      Bytes& memory = memory_.emplace_back(std::max(send_at + sent, recv_at + got) + unit);
      if (sent > 0) std::memcpy(memory.data() + send_at, operands[me].data(), sent);
      results_.push_back(memory.data() + recv_at);
      members_.push_back({memory.data() + send_at, memory.data() + recv_at, count});
      if (c.place == Place::apart) untouched_.push_back(operands[me]);
    }
    work_ = group.start(
        {c.kind, c.reduce, c.dtype, root, static_cast<std::int64_t>(c.seed), members_, "%x"});
  }

  bool test() { return work_.test(); }
  /// Waits and compares.
  void land() {
    work_.wait();
    for (std::size_t m = 0; m < wanted_.size(); ++m) {
      if (!wanted_[m].empty() &&
          std::memcmp(results_[m], wanted_[m].data(), wanted_[m].size()) != 0)
        ADD_FAILURE() << name(case_.kind) << " " << name(case_.reduce) << " "
                      << hocket::name(case_.dtype) << " member " << m << " of " << case_.counts[m]
                      << " place " << static_cast<int>(case_.place);
      if (m < untouched_.size() && !untouched_[m].empty() &&
          std::memcmp(members_[m].send, untouched_[m].data(), untouched_[m].size()) != 0)
        ADD_FAILURE() << name(case_.kind) << ": an operand was changed";
    }
  }

 private:
  Case case_;
  std::vector<Member> members_;
  std::deque<Bytes> memory_;
  std::vector<std::byte*> results_;
  std::vector<Bytes> wanted_, untouched_;
  Work work_;
};

std::string name_of_size(const testing::TestParamInfo<std::tuple<TransportKind, int>>& tested) {
  const auto& [kind, ranks] = tested.param;
  return fmt::format("{}_{}", kind.name, ranks);
}

class Sizes : public testing::TestWithParam<std::tuple<TransportKind, int>> {
 protected:
  static TestWorld open() {
    const auto& [kind, ranks] = GetParam();
    return kind.open(ranks);
  }
};

TEST_P(Sizes, every_call_gives_the_plain_result) {
  TestWorld world = open();
  auto cases = all_cases({{1}, {7, 0, 130}});
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    for (const Case& c : cases) Flight(*group, c).land();
  }));
}

TEST_P(Sizes, large_ones_are_shared_out) {
  TestWorld world = open();
  auto cases = all_cases({{9000, 5, 3001}});
  std::erase_if(cases, [](const Case& c) { return c.seed % 3 != 0; });
  cases.push_back({Kind::all_reduce, DType::f32, Reduce::sum, {2'000'003}, Place::same, 1});
  cases.push_back({Kind::all_gather, DType::i8, Reduce::sum, {1'000'003}, Place::apart, 2});
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    for (const Case& c : cases) Flight(*group, c).land();
  }));
}

TEST_P(Sizes, many_are_in_flight_and_done_in_order) {
  TestWorld world = open();
  auto cases = all_cases({{3, 64}, {0}, {4200}});
  std::erase_if(cases, [](const Case& c) { return c.seed % 4 == 3; });
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    std::deque<Flight> flights;
    for (const Case& c : cases) {
      // No two ranks run ahead alike.
      std::size_t most = mix(c.seed * 8 + static_cast<std::uint64_t>(rank)) % 40;
      flights.emplace_back(*group, c);
      if (c.seed % 5 == 0) flights.back().test();
      if (c.seed % 7 == 0) flights.back().land();
      while (flights.size() > most) {
        flights.front().land();
        flights.pop_front();
      }
    }
    for (Flight& f : flights) f.land();
  }));
}

INSTANTIATE_TEST_SUITE_P(Over, Sizes,
                         testing::Combine(testing::ValuesIn(transport_kinds()),
                                          testing::Values(1, 2, 3, 4)),
                         name_of_size);

class Transports : public testing::TestWithParam<TransportKind> {};
INSTANTIATE_TEST_SUITE_P(Over, Transports, testing::ValuesIn(transport_kinds()), name_of_kind);

TEST_P(Transports, several_groups_at_once) {
  TestWorld world = GetParam().open(4);
  auto cases = all_cases({{5, 12}, {5000}});
  std::erase_if(cases, [](const Case& c) { return c.seed % 11 != 0; });
  expect_no_errors(run_ranks(world, [&](int rank) {
    std::vector<int> rows = rank < 2 ? std::vector{1, 0} : std::vector{2, 3};
    std::vector<int> columns{rank % 2, rank % 2 + 2};
    auto all = world.all(rank), row = world.group(rank, "row", rows),
         column = world.group(rank, "column", columns);
    for (const Case& c : cases) {
      std::deque<Flight> flights;
      for (ProcessGroup* g : {column.get(), all.get(), row.get(), all.get()})
        flights.emplace_back(*g, c);
      // Ranks wait in different orders: none needs another one to wait for the same call.
      if (rank % 2 == 1) std::swap(flights.front(), flights.back());
      for (Flight& f : flights) f.land();
    }
  }));
}

TEST_P(Transports, a_rank_that_waits_elsewhere_holds_up_nobody) {
  TestWorld world = GetParam().open(2);
  expect_no_errors(run_ranks(world, [&](int rank) {
    std::vector<int> both{0, 1};
    std::vector<float> x(100'000, static_cast<float>(rank + 1));
    auto a = world.group(rank, "a", both), b = world.group(rank, "b", both);
    float* data = x.data();
    Member first{data, data, 50'000}, second{data + 50'000, data + 50'000, 50'000};
    Work wa, wb;
    wa = a->start({.members = {&first, 1}});
    if (rank == 0) {
      wb = b->start({.members = {&second, 1}});
      wb.wait();
      wa.wait();
    } else {
      wa.wait();  // rank 0 does not help: it waits for the call below
      wb = b->start({.members = {&second, 1}});
      wb.wait();
    }
    EXPECT_EQ(x[0], 3);
    EXPECT_EQ(x[99'999], 3);
  }));
}

TEST_P(Transports, host_their_ranks) {
  TestWorld world = GetParam().open(3, 5);
  std::set<int> hosted;
  for (const auto& transport : world.hosts) {
    EXPECT_EQ(transport->ranks(), 3);
    EXPECT_TRUE(std::ranges::is_sorted(transport->hosted()));
    for (int rank : transport->hosted()) EXPECT_TRUE(hosted.insert(rank).second) << rank;
  }
  EXPECT_FALSE(hosted.empty());
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    EXPECT_EQ(group->size(), 3);
    EXPECT_EQ(group->index(), rank);
    EXPECT_EQ(group->deadline(), 5);
  }));
}

TEST_P(Transports, are_closed_when_no_group_is_left) {
  TestWorld world = GetParam().open(1);
  Transport& transport = *world.hosts[0];
  auto group = transport.all(0);
  EXPECT_THROW(transport.close(), InternalError);
  group = nullptr;
  transport.close();
  transport.close();
  EXPECT_THROW(transport.all(0), InternalError);
}

TEST_P(Transports, send_and_recv_meet_in_the_order_of_their_pair) {
  TestWorld world = GetParam().open(3);
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    std::int64_t out[4], in[3][4] = {};
    for (int i = 0; i < 4; ++i) out[i] = 10 * rank + i;
    std::deque<Work> works;
    for (int peer = 0; peer < 3; ++peer)
      for (int i = 0; peer != rank && i < 4; ++i) {
        Member to{&out[i], nullptr, 1}, from{nullptr, &in[peer][i], 1};
        works.push_back(group->start({.kind = Kind::send,
                                      .dtype = DType::i64,
                                      .peer = peer,
                                      .channel = i,
                                      .members = {&to, 1}}));
        works.push_back(group->start({.kind = Kind::recv,
                                      .dtype = DType::i64,
                                      .peer = peer,
                                      .channel = i,
                                      .members = {&from, 1}}));
      }
    for (Work& w : works) w.wait();
    for (int peer = 0; peer < 3; ++peer)
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(in[peer][i], peer == rank ? 0 : 10 * peer + i);
      }
  }));
}

TEST_P(Transports, all_to_all_with_uneven_rows) {
  TestWorld world = GetParam().open(3);
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    // Rank r sends r + to rows of two elements to each.
    std::vector<std::int64_t> send, recv;
    std::vector<std::int32_t> out, wanted;
    for (int r = 0; r < 3; ++r) {
      send.push_back(rank + r);
      recv.push_back(r + rank);
      for (int i = 0; i < 2 * (rank + r); ++i) {
        out.push_back(100 * rank + 10 * r + i);
        wanted.push_back(100 * r + 10 * rank + i);
      }
    }
    std::vector<std::int32_t> in(wanted.size());
    Member m{.send = out.data(), .recv = in.data(), .send_rows = send, .recv_rows = recv, .row = 2};
    group->start({.kind = Kind::all_to_all, .dtype = DType::i32, .members = {&m, 1}}).wait();
    EXPECT_EQ(in, wanted);
    m.recv = out.data();  // larger than it needs: sums are symmetric
    group->start({.kind = Kind::all_to_all, .dtype = DType::i32, .members = {&m, 1}}).wait();
    EXPECT_EQ(out, wanted);
  }));
}

TEST_P(Transports, all_to_all_of_rows_without_elements) {
  TestWorld world = GetParam().open(2);
  expect_no_errors(run_ranks(world, [&](int rank) {
    auto group = world.all(rank);
    std::vector<std::int64_t> rows{2, 2};
    Member listed{.send_rows = rows, .recv_rows = rows, .row = 0}, equal{.row = 0};
    group->start({.kind = Kind::all_to_all, .channel = 1, .members = {&listed, 1}}).wait();
    group->start({.kind = Kind::all_to_all, .channel = 2, .members = {&equal, 1}}).wait();
  }));
}

}  // namespace
}  // namespace hocket::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int faults = 0;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view flag = argv[i], value = argv[i + 1];
    if (flag == "--faults") std::from_chars(value.data(), value.data() + value.size(), faults);
    if (flag == "--seed") std::from_chars(value.data(), value.data() + value.size(), seed);
  }
  return faults > 0 ? hocket::comm::run_faults(faults, seed) : RUN_ALL_TESTS();
}
