// A world whose ranks are spread over two hosts gives what it gives on one.

#include <gtest/gtest.h>

#include <thread>

#include "hocket/base/error.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/iter/rotate.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"
#include "support/random_program.h"
#include "tests/comm/part.h"
#include "tests/threads/one_step.h"

namespace hocket {
namespace {

using Hosts = std::vector<std::vector<int>>;

/// Runs `body` as every host of a world, each in a thread; returns what each throws, or "".
template <class Body>
std::vector<std::string> run_hosts(int ranks, const Hosts& hosts, double deadline, Body body) {
  auto whole = std::make_shared<comm::InProcess>(ranks, comm::InProcessOptions{deadline});
  std::vector<std::string> messages(hosts.size());
  std::vector<std::jthread> threads;
  for (std::size_t h = 0; h < hosts.size(); ++h)
    threads.emplace_back([&, h] {
      comm::Part part(whole, hosts[h]);
      try {
        body(part);
      } catch (const RunError& e) {
        messages[h] = e.what();
      }
      part.close();
    });
  threads.clear();  // joins
  return messages;
}

/// Of these ranks.
template <class T>
std::vector<T> chosen(const std::vector<T>& all, std::span<const int> ranks) {
  std::vector<T> some;
  for (int r : ranks) some.push_back(all[static_cast<std::size_t>(r)]);
  return some;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  auto equal = [](const Tensor& x, const Tensor& y) { return (!x && !y) || same_bits(x, y); };
  return std::ranges::equal(a, b, equal);
}

TEST(Hosted, RandomProgramsGiveTheBitsOfTheInterpreter) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::Random random(seed);
    Program program = testing::random_program(random, {.ranks = 4, .nodes = 60});
    auto inputs = testing::random_inputs(random, program);
    auto wanted = interpret(program, inputs);
    Hosts hosts = seed % 2 == 0 ? Hosts{{0, 2}, {1, 3}} : Hosts{{1}, {0, 2, 3}};
    auto messages = run_hosts(4, hosts, 60, [&](comm::Transport& transport) {
      Ranks ranks(program, transport);
      EXPECT_TRUE(std::ranges::equal(ranks.ranks(), transport.hosted()));
      for (int k = 0; k < 2; ++k) {
        auto found = testing::one_step(ranks, chosen(inputs, ranks.ranks()));
        auto mine = chosen(wanted, ranks.ranks());
        ASSERT_EQ(found.size(), mine.size());
        for (std::size_t i = 0; i < mine.size(); ++i) {
          EXPECT_TRUE(same(found[i].outputs, mine[i].outputs)) << seed << "\n" << to_text(program);
          EXPECT_TRUE(same(found[i].state, mine[i].state)) << seed << "\n" << to_text(program);
        }
      }
    });
    EXPECT_EQ(messages, std::vector<std::string>(2));
  }
}

/// Each rank is told its own number, and copies of a program for one rank do not meet.
TEST(Hosted, RanksKeepTheirNumbers) {
  constexpr std::string_view body = R"(graph step(%x: f32[1]) {
  %r: i64[] = rank {group="world"}
  return %r
})";
  for (bool copies : {false, true}) {
    Program program =
        parse(copies ? std::string(body) : fmt::format("mesh(dp=3)\n{}", body), ops::all());
    auto messages = run_hosts(3, {{0, 2}, {1}}, 60, [&](comm::Transport& transport) {
      Ranks ranks(program, transport, {.trace = true});
      std::vector<Tensor> one{Tensor(Type{DType::f32, false, {1}})};
      auto found = testing::one_step(ranks, std::vector(ranks.ranks().size(), one));
      for (std::size_t i = 0; i < found.size(); ++i) {
        int number = transport.hosted()[i];
        EXPECT_EQ(found[i].outputs[0].as<std::int64_t>()[0], copies ? 0 : number);
        EXPECT_EQ(ranks.trace().ranks[i].rank, number);
      }
    });
    EXPECT_EQ(messages, std::vector<std::string>(2));
  }
}

constexpr std::string_view hosted_text = R"(mesh(dp=2)
graph step(%w: state f32[1] "w" parameter, %x: f32[1] "x", %i: i64[1] "i") {
  %p: f32[1] = gather(%x, %i) {dim=0}
  %g: f32[1] = mul(%w, %p)
  %h: pending f32[1] = all_reduce(%g) {group="dp"}
  %s: f32[1] = wait(%h)
  %u: f32[1] = sub(%w, %s)
  next %w = %u
  return g=%g
})";

Tensor number(float value) {
  Tensor t(Type{DType::f32, false, {1}});
  t.as<float>()[0] = value;
  return t;
}

Tensor index(std::int64_t value) {
  Tensor t(Type{DType::i64, false, {1}});
  t.as<std::int64_t>()[0] = value;
  return t;
}

/// A transfer crosses from one iteration to the next, and from one host to the other.
TEST(Hosted, ALoopWithDelayedNodes) {
  Program plain = parse(hosted_text, ops::all()), moved = plain;
  Graph& g = moved.graphs[0];
  NodeId late[] = {g.node(g.find("s")), g.node(g.find("u"))};
  rotate(g, late);
  auto train = [](const Program& program) {
    std::vector<std::vector<float>> seen(2);
    auto messages = run_hosts(2, {{1}, {0}}, 60, [&](comm::Transport& transport) {
      Ranks ranks(program, transport);
      int rank = transport.hosted()[0];
      std::vector<float>& mine = seen[static_cast<std::size_t>(rank)];
      Loop loop(ranks, {{number(1), {}, {}}});
      auto keep = [&](std::span<const Produced> produced) {
        for (const Produced& p : produced) {
          EXPECT_EQ(p.rank, rank);
          mine.push_back(p.value.as<float>()[0]);
        }
      };
      for (int k = 0; k < 5; ++k) {
        auto x = 0.1f * static_cast<float>(k + rank + 1);
        keep(loop.step(InputTables{{{}, number(x), index(0)}}));
      }
      keep(loop.finish());
      mine.push_back(loop.state()[0][0].as<float>()[0]);
    });
    EXPECT_EQ(messages, std::vector<std::string>(2));
    return seen;
  };
  auto wanted = train(plain);
  EXPECT_EQ(wanted[0].size(), 6u);
  EXPECT_EQ(train(moved), wanted);
}

TEST(Hosted, AFailureElsewhereEndsTheStepHere) {
  Program program = parse(hosted_text, ops::all());
  auto messages = run_hosts(2, {{0}, {1}}, 60, [&](comm::Transport& transport) {
    Ranks ranks(program, transport);
    bool bad = transport.hosted()[0] == 1;
    (void)testing::one_step(ranks, {{number(1), number(2), index(bad ? 9 : 0)}});
  });
  EXPECT_TRUE(messages[0].starts_with("rank 1 failed: %p = gather: ")) << messages[0];
  EXPECT_TRUE(messages[1].starts_with("rank 1: %p = gather: ")) << messages[1];
}

TEST(Hosted, ARankElsewhereThatDoesNotCome) {
  Program program = parse(hosted_text, ops::all());
  std::atomic<bool> over{false};
  auto messages = run_hosts(2, {{0}, {1}}, 0.2, [&](comm::Transport& transport) {
    Ranks ranks(program, transport);
    if (transport.hosted()[0] == 1) {
      while (!over) std::this_thread::yield();
      return;
    }
    try {
      (void)testing::one_step(ranks, {{number(1), number(2), index(0)}});
    } catch (...) {
      over = true;
      throw;
    }
  });
  EXPECT_NE(messages[0].find("rank 1 did not come within 0.2 s"), std::string::npos) << messages[0];
  EXPECT_EQ(messages[1], "");
}

TEST(Hosted, AWorldOfAnotherSize) {
  Program program = parse(hosted_text, ops::all());
  comm::InProcess transport(3);
  EXPECT_THROW(Ranks(program, transport), Error);
}

}  // namespace
}  // namespace hocket
