// All-reduce between ranks of one process, compared with a lower bound: threads that publish the
// addresses of their tensors, meet at a spin barrier, each sum half of the elements into both
// results, and meet at another barrier.
//
// Bars: two ranks, 4 KB to 25 MB of f32, at most 1.5 times the bound. Four ranks give correct
// results.

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "bench/measure.h"
#include "bench/sentinel.h"
#include "hocket/base/error.h"
#include "hocket/comm/in_process.h"
#include "hocket/ir/tensor.h"

namespace hocket::bench {
namespace {

constexpr double most = 1.5;
constexpr double sample_seconds = 0.01;

struct Size {
  const char* name;
  std::int64_t elements;
};
constexpr Size sizes[] = {
    {"4 KB", 1 << 10}, {"64 KB", 1 << 14}, {"1 MB", 1 << 18}, {"25 MB", 25 << 18}};

/// Operands and results of all ranks, allocated like the values of a program.
struct Data {
  Data(std::size_t count, std::int64_t n) : ranks(count), elements(n) {
    for (std::size_t r = 0; r < ranks; ++r) {
      in.emplace_back(Type{DType::f32, false, {n}});
      out.emplace_back(Type{DType::f32, false, {n}});
      for (std::int64_t i = 0; i < n; ++i)
        in[r].as<float>()[i] = static_cast<float>(i % 1000) + static_cast<float>(r) * 0.5f;
    }
  }
  std::size_t ranks;
  std::int64_t elements;
  std::vector<Tensor> in, out;

  bool right() const {
    for (std::int64_t i = 0; i < elements; ++i) {
      float total = in[0].as<float>()[i];
      for (std::size_t r = 1; r < ranks; ++r) total += in[r].as<float>()[i];
      for (std::size_t r = 0; r < ranks; ++r)
        if (out[r].as<float>()[i] != total) return false;
    }
    return true;
  }
};

/// Seconds per round when all ranks run `rounds` rounds at the same time, after a warm-up.
double time_ranks(std::size_t ranks, int rounds, const std::function<void(int, int)>& loop) {
  std::atomic<std::size_t> ready{0};
  std::vector<double> seconds(ranks);
  std::vector<int> cpus = usable_cpus();
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      bind_thread({&cpus[r % cpus.size()], 1});
      loop(static_cast<int>(r), rounds / 10 + 1);
      ++ready;
      while (ready < ranks) std::this_thread::yield();
      auto start = std::chrono::steady_clock::now();
      loop(static_cast<int>(r), rounds);
      seconds[r] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    });
  threads.clear();  // joins
  return *std::ranges::max_element(seconds) / rounds;
}

/// Counts arrivals. With two ranks no barrier is faster.
struct SpinBarrier {
  alignas(64) std::atomic<std::uint32_t> count{0};
  void arrive(std::uint32_t& target, std::uint32_t ranks) {
    target += ranks;
    count.fetch_add(1, std::memory_order_acq_rel);
    while (static_cast<std::int32_t>(count.load(std::memory_order_acquire) - target) < 0) {
    }
  }
};

/// The lower bound for two ranks, without copies: each publishes the addresses of its operand and
/// result, they meet at a barrier, each sums one half for both, and they meet again.
class ByHand {
 public:
  [[gnu::noinline]] void all_reduce(int rank, const float* send, float* recv, std::int64_t count) {
    Participant& participant = participants_[rank];
    participant.send = send;
    participant.recv = recv;
    barrier_.arrive(participant.target, 2);
    std::int64_t first = count / 2 * rank, last = first + count / 2;
    const float *a = participants_[0].send, *b = participants_[1].send;
    float *x = participants_[0].recv, *y = participants_[1].recv;
#pragma GCC ivdep
    for (std::int64_t k = first; k < last; ++k) x[k] = y[k] = a[k] + b[k];
    barrier_.arrive(participant.target, 2);
  }

 private:
  struct alignas(64) Participant {
    const float* send;
    float* recv;
    std::uint32_t target = 0;
  };
  SpinBarrier barrier_;
  Participant participants_[2];
};

double by_hand(Data& data, int rounds) {
  ByHand hand;
  return time_ranks(data.ranks, rounds, [&](int rank, int times) {
    auto r = static_cast<std::size_t>(rank);
    const float* send = data.in[r].as<float>();
    float* recv = data.out[r].as<float>();
    for (int i = 0; i < times; ++i) hand.all_reduce(rank, send, recv, data.elements);
  });
}

double by_hocket(Data& data, int rounds) {
  comm::InProcess world(static_cast<int>(data.ranks), {.timed = false});
  std::vector<std::unique_ptr<comm::ProcessGroup>> groups;
  for (std::size_t r = 0; r < data.ranks; ++r) groups.push_back(world.all(static_cast<int>(r)));
  return time_ranks(data.ranks, rounds, [&](int rank, int times) {
    auto r = static_cast<std::size_t>(rank);
    comm::Member member{data.in[r].as<float>(), data.out[r].as<float>(), data.elements};
    for (int i = 0; i < times; ++i)
      groups[r]->start({.members = {&member, 1}, .name = "%gradients"}).wait();
  });
}

int rounds_for(const Size& size) {
  double guess = 0.4e-6 + static_cast<double>(size.elements) * 4 / 20e9;
  return static_cast<int>(std::clamp(sample_seconds / guess, 3.0, 20'000.0));
}

int run() {
  Bars bars;
  print_machine(probe());
  for (const Size& size : sizes) {
    Data data(2, size.elements);
    int rounds = rounds_for(size);
    std::vector<Variant> variants{{"by hand", [&] { return by_hand(data, rounds); }},
                                  {"hocket", [&] { return by_hocket(data, rounds); }}};
    fmt::print("\nall-reduce of {} f32 between two ranks\n", size.name);
    auto measured = measure(variants, {.samples = 9,
                                       .patience = 10,
                                       .sentinel_seconds = 0.02,
                                       .one_core = false,
                                       .progress = size.name});
    print_table(measured);
    double ratio = measured[1].median / measured[0].median;
    bars.expect(data.right() && ratio <= most, size.name,
                fmt::format("{:.2f} times the limit{}", ratio, data.right() ? "" : ", and wrong"),
                fmt::format("at most {}", most));
  }
  fmt::print("\nfour ranks on {} cores\n", usable_cpus().size());
  for (const Size& size : sizes) {
    Data data(4, size.elements);
    double seconds = by_hocket(data, rounds_for(size) / 4 + 1);
    bars.expect(data.right(), fmt::format("four ranks, {}", size.name),
                fmt::format("{}, {}", data.right() ? "right" : "wrong", time_text(seconds)),
                "right");
  }
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() { return hocket::bench::run(); }
