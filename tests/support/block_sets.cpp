#include "support/block_sets.h"

#include <algorithm>
#include <cmath>

#include "hocket/base/disjoint_sets.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

class BlockMaker {
 public:
  explicit BlockMaker(const Graph& g)
      : g_(g), time_(g.node_bound()), sets_(g.value_bound()), uses_(g.value_bound()) {
    std::uint32_t time = 0;
    for (NodeId n : g.nodes()) time_[n.index] = ++time;
    time_[g.return_node().index] = ++time;
    for (const Input& in : g.inputs()) define(in.value, in.state);
    for (NodeId n : g.nodes())
      for (Value v : g.results(n)) define(v, false);
  }

  std::vector<Block> make() {
    for (NodeId n : g_.nodes()) share(n);
    std::vector<Block> blocks;
    for (std::uint32_t i = 0; i < uses_.size(); ++i)
      if (uses_[i].defined && !uses_[i].state && sets_.find(i) == i)
        blocks.push_back({uses_[i].bytes, uses_[i].first, uses_[i].last});
    for (NodeId n : g_.nodes())
      if (g_[n].op == &ops::matmul && time_[n.index] % 2 == 0)
        blocks.push_back({g_.type(g_.result(n)).bytes() / 2, time_[n.index], time_[n.index]});
    return blocks;
  }

 private:
  struct Uses {  // of the bytes of a set of values
    std::int64_t bytes = 0;
    std::uint32_t first = 0, last = 0;
    bool defined = false, state = false, bucket = false;
  };

  Uses& uses(Value v) { return uses_[sets_.find(v.index)]; }

  void define(Value v, bool state) {
    std::uint32_t first = time_[g_.node(v).index], last = first;
    for (Use use : g_.uses(v)) last = std::max(last, time_[use.node.index]);
    uses_[v.index] = {g_.type(v).bytes(), first, last, true, state, false};
  }

  void join(Value a, Value b) {
    const Uses x = uses(a), y = uses(b);
    sets_.join(a.index, b.index);
    uses(a) = {std::max(x.bytes, y.bytes), std::min(x.first, y.first),
               std::max(x.last, y.last),   true,
               x.state || y.state,         x.bucket || y.bucket};
  }

  void share(NodeId n) {
    const Node& node = g_[n];
    std::vector<Value> results = g_.results(n);
    if (node.op->is_wait || node.op->is_view) {
      for (std::uint32_t i = 0; i < results.size() && i < node.inputs.size(); ++i)
        join(node.inputs[i], results[i]);
    } else if (node.op->collective != nullptr && !results.empty()) {
      transfer(n, results);
    } else if (node.op->body != nullptr) {
      for (Value v : node.inputs)
        if (can_overwrite(v, n) && uses(v).bytes == uses(results[0]).bytes)
          return join(v, results[0]);
    }
  }

  bool can_overwrite(Value v, NodeId n) {
    const Uses& u = uses(v);
    return u.last == time_[n.index] && !u.state && !u.bucket;
  }

  void transfer(NodeId n, std::span<const Value> results) {
    const Node& node = g_[n];
    std::uint32_t end = time_[n.index];
    for (Value v : results)
      for (Use use : g_.uses(v)) end = std::max(end, time_[use.node.index]);
    if (node.op == &ops::all_reduce) {
      bool in_place = true;
      std::int64_t bytes = 0;
      for (Value v : node.inputs) {
        in_place = in_place && can_overwrite(v, n);
        bytes += (g_.type(v).bytes() + 63) / 64 * 64;
      }
      for (Value v : results) join(results[0], v);
      if (in_place)
        for (Value v : node.inputs) join(results[0], v);
      uses(results[0]).bytes = bytes;
      uses(results[0]).bucket = true;
    }
    for (Value v : node.inputs) uses(v).last = std::max(uses(v).last, end);
  }

  const Graph& g_;
  std::vector<std::uint32_t> time_;  // of nodes
  DisjointSets sets_;                // of values with the same bytes
  std::vector<Uses> uses_;           // by the root of a set
};

double fraction(Random& random) { return static_cast<double>(below(random, 1 << 20)) / (1 << 20); }

/// Any order of magnitude up to `most` is as likely as the others.
std::int64_t any_magnitude(Random& random, double most) {
  return static_cast<std::int64_t>(std::exp(fraction(random) * std::log(most)));
}

// ---- sizes

std::int64_t uniform_size(Random& random) {
  return static_cast<std::int64_t>(below(random, 65536));
}
std::int64_t any_size(Random& random) { return any_magnitude(random, 1 << 24); }
std::int64_t power_of_two(Random& random) { return std::int64_t{64} << below(random, 14); }
std::int64_t one_of_two(Random& random) { return chance(random, 10) ? 64000 : 448; }

// ---- lifetimes

using Blocks = std::vector<Block>;

void any_lives(Random& random, Blocks& blocks) {
  for (Block& b : blocks) {
    auto x = static_cast<std::uint32_t>(below(random, blocks.size()));
    auto y = static_cast<std::uint32_t>(below(random, blocks.size()));
    b.first = std::min(x, y);
    b.last = std::max(x, y);
  }
}

void short_lives(Random& random, Blocks& blocks) {
  for (Block& b : blocks) {
    b.first = static_cast<std::uint32_t>(below(random, blocks.size()));
    b.last = b.first + static_cast<std::uint32_t>(below(random, 20));
  }
}

void mostly_short_lives(Random& random, Blocks& blocks) {
  for (Block& b : blocks) {
    b.first = static_cast<std::uint32_t>(below(random, blocks.size()));
    b.last = b.first +
             static_cast<std::uint32_t>(any_magnitude(random, static_cast<double>(blocks.size())));
  }
}

void nested_lives(Random& random, Blocks& blocks) {
  std::vector<std::size_t> open;
  std::uint32_t time = 0;
  for (std::size_t next = 0; next < blocks.size() || !open.empty(); ++time) {
    if (next < blocks.size() && (open.empty() || chance(random, 55))) {
      blocks[next].first = time;
      open.push_back(next++);
    } else {
      blocks[open.back()].last = time;
      open.pop_back();
    }
  }
}

/// A layer has two activations, a temporary forwards and one backwards, and a gradient that lives
/// until its optimizer runs, at once or at the end.
void step_lives(Random& random, Blocks& blocks) {
  auto layers = static_cast<std::uint32_t>(blocks.size() / 5 + 1);
  auto some = [&](std::size_t n) { return static_cast<std::uint32_t>(below(random, n)); };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto layer = static_cast<std::uint32_t>(i / 5);
    std::uint32_t forward = 3 * layer, backward = 6 * layers - forward, end = 7 * layers + 9;
    Block& b = blocks[i];
    std::uint32_t lives[][2] = {
        {forward, backward + some(3)},
        {forward + 1, backward - some(3)},
        {forward + 1, forward + 1 + some(6)},
        {backward, backward + 1 + some(6)},
        {backward + 1, chance(random, 50) ? end - layer : backward + 8},
    };
    b.first = lives[i % 5][0];
    b.last = std::max(lives[i % 5][0], lives[i % 5][1]);
  }
}

template <std::int64_t (*size)(Random&), void (*live)(Random&, Blocks&)>
Blocks random_blocks(Random& random, std::size_t n) {
  Blocks blocks(n);
  for (Block& b : blocks) b.bytes = size(random);
  live(random, blocks);
  return blocks;
}

constexpr BlockFamily lives_and_sizes[] = {
    {"any lives, uniform sizes", random_blocks<uniform_size, any_lives>},
    {"any lives, any magnitude", random_blocks<any_size, any_lives>},
    {"any lives, powers of two", random_blocks<power_of_two, any_lives>},
    {"any lives, two sizes", random_blocks<one_of_two, any_lives>},
    {"short lives, uniform sizes", random_blocks<uniform_size, short_lives>},
    {"short lives, any magnitude", random_blocks<any_size, short_lives>},
    {"short lives, powers of two", random_blocks<power_of_two, short_lives>},
    {"short lives, two sizes", random_blocks<one_of_two, short_lives>},
    {"mostly short lives, uniform sizes", random_blocks<uniform_size, mostly_short_lives>},
    {"mostly short lives, any magnitude", random_blocks<any_size, mostly_short_lives>},
    {"mostly short lives, powers of two", random_blocks<power_of_two, mostly_short_lives>},
    {"mostly short lives, two sizes", random_blocks<one_of_two, mostly_short_lives>},
    {"nested lives, uniform sizes", random_blocks<uniform_size, nested_lives>},
    {"nested lives, any magnitude", random_blocks<any_size, nested_lives>},
    {"step, uniform sizes", random_blocks<uniform_size, step_lives>},
    {"step, any magnitude", random_blocks<any_size, step_lives>},
    {"step, powers of two", random_blocks<power_of_two, step_lives>},
    {"step, two sizes", random_blocks<one_of_two, step_lives>},
};

}  // namespace

std::vector<Block> blocks_of(const Graph& g) { return BlockMaker(g).make(); }

void draw_sizes(Random& random, std::span<Block> blocks) {
  for (Block& b : blocks) b.bytes = any_size(random);
}

std::span<const BlockFamily> block_families() { return lives_and_sizes; }

}  // namespace hocket::testing
