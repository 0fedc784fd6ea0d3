#include "support/random_classes.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/disjoint_sets.h"
#include "hocket/ops/ops.h"
#include "support/graph_maker.h"

namespace hocket::testing {
namespace {

/// Which ranks run which graph, and over which groups they communicate.
struct Layout {
  std::shared_ptr<World> world = std::make_shared<World>();
  std::vector<std::vector<int>> ranks;  // by graph
  Groups own;                           // of each graph
  std::vector<std::string> common;      // groups shared by several graphs
  bool sends = false;                   // graphs send to each other along the axis `pp`
};

/// A group with the graphs whose ranks its sets connect; all ranks of these graphs belong to the
/// group.
struct Circle {
  std::string group;
  std::vector<std::size_t> graphs;
};

std::vector<Circle> circles(const Layout& layout, const std::string& group) {
  std::size_t count = layout.ranks.size();
  DisjointSets joined(count);
  std::vector<std::uint32_t> graph_of(static_cast<std::size_t>(layout.world->ranks()));
  for (std::uint32_t g = 0; g < count; ++g)
    for (int rank : layout.ranks[g]) graph_of[static_cast<std::size_t>(rank)] = g;
  std::vector<bool> outside(count);
  for (std::uint32_t g = 0; g < count; ++g)
    for (int rank : layout.ranks[g]) {
      std::vector<int> set = layout.world->members(group, rank);
      outside[g] = outside[g] || set.empty();
      for (int other : set) joined.join(g, graph_of[static_cast<std::size_t>(other)]);
    }
  std::vector<Circle> found;
  for (std::uint32_t r = 0; r < count; ++r) {
    if (joined.find(r) != r) continue;
    Circle circle{group, {}};
    bool whole = true;
    for (std::uint32_t g = 0; g < count; ++g) {
      if (joined.find(g) != r) continue;
      circle.graphs.push_back(g);
      whole = whole && !outside[g];
    }
    if (whole) found.push_back(circle);
  }
  return found;
}

/// Builds all graphs at the same time: a call is added to all graphs that share it at once, and
/// waits are added later. So no deadlock is possible.
class ClassesMaker {
 public:
  ClassesMaker(Random& random, const Layout& layout, Program& program)
      : random_(random), layout_(layout), program_(program) {
    for (Graph& g : program.graphs) makers_.emplace_back(random, g, false, layout.own);
    for (const std::string& group : layout.common)
      for (Circle& c : circles(layout, group)) circles_.push_back(std::move(c));
  }

  void make() {
    for (GraphMaker& m : makers_) {
      m.inputs();
      m.loop_inputs();
    }
    for (std::size_t events = 3 + below(random_, 8); events > 0; --events) {
      for (GraphMaker& m : makers_) {
        for (std::size_t n = below(random_, 4); n > 0; --n) m.node();
        if (chance(random_, 40)) m.wait();
      }
      if (layout_.sends && chance(random_, 50))
        transfer();
      else if (!circles_.empty())
        meet(circles_[below(random_, circles_.size())]);
    }
    for (Coming& c : coming_) bring(c);
    for (GraphMaker& m : makers_) {
      m.outputs();
      m.loop_updates();
    }
  }

 private:
  /// A transfer whose receive is started, but not yet its send.
  struct Coming {
    std::size_t from = 0, to = 0;
    Value value, arriving;
    std::int64_t channel = 0;
  };

  std::int64_t channel() { return 1000 * ++channels_; }

  void transfer() {
    if (!coming_.empty() && chance(random_, 60)) {
      bring(coming_.front());
      coming_.erase(coming_.begin());
      return;
    }
    std::size_t from = below(random_, makers_.size());
    std::size_t to = (from + 1 + below(random_, makers_.size() - 1)) % makers_.size();
    auto earlier = [&](const Coming& c) { return c.from == from && c.to == to; };
    for (const Coming& c : coming_)  // transfers from one graph to another keep their order
      if (earlier(c)) bring(c);
    std::erase_if(coming_, earlier);
    Coming c{from, to, makers_[from].offer(), {}, channel()};
    c.arriving = makers_[to].receive(static_cast<std::int64_t>(from),
                                     program_.graphs[from].type(c.value), c.channel);
    coming_.push_back(c);
    if (chance(random_, 30)) return;  // the send comes later
    bring(c);
    coming_.pop_back();
  }

  void bring(const Coming& c) {
    makers_[c.from].send(c.value, static_cast<std::int64_t>(c.to), c.channel);
    makers_[c.to].take(c.arriving);
  }

  void meet(const Circle& circle) {
    std::int64_t channel_of_all = channel();
    if (chance(random_, 10)) {
      for (std::size_t g : circle.graphs) makers_[g].meet_at_barrier(circle.group, channel_of_all);
      return;
    }
    static const std::vector<const Op*> list = {&ops::all_reduce,     &ops::all_reduce,
                                                &ops::all_reduce,     &ops::reduce,
                                                &ops::broadcast_from, &ops::all_gather};
    static const std::vector<Type> types = {{DType::f32, false, {4}},
                                            {DType::f32, false, {4}},
                                            {DType::bf16, false, {2, 3}},
                                            {DType::f64, false, {1}},
                                            {DType::i64, false, {3}}};
    const Op& op = *list[below(random_, list.size())];
    std::vector<Type> members(1 + below(random_, 2), types[below(random_, types.size())]);
    std::vector<Named> given{{"group", circle.group}, {"channel", channel_of_all}};
    constexpr std::string_view reductions[] = {"sum", "sum", "max", "min"};
    if (op.attribute_index("reduce") >= 0)
      given.push_back({"reduce", std::string(reductions[below(random_, std::size(reductions))])});
    if (op.attribute_index("root") >= 0)
      given.push_back(
          {"root",
           static_cast<std::int64_t>(below(
               random_, static_cast<std::size_t>(*layout_.world->group_size(circle.group))))});
    for (std::size_t g : circle.graphs) makers_[g].meet(op, given, members);
  }

  Random& random_;
  const Layout& layout_;
  Program& program_;
  std::vector<GraphMaker> makers_;
  std::vector<Circle> circles_;
  std::vector<Coming> coming_;
  std::int64_t channels_ = 0;
};

Program make_graphs(Random& random, const Layout& layout) {
  Program program;
  program.world = layout.world;
  for (const std::vector<int>& ranks : layout.ranks) {
    program.graphs.emplace_back(fmt::format("g{}", program.graphs.size()), program.world);
    program.graphs.back().set_ranks(ranks);
  }
  ClassesMaker(random, layout, program).make();
  return program;
}

}  // namespace

Program random_stages(Random& random) {
  Layout layout;
  int stages = 2 + static_cast<int>(below(random, 3));
  int copies = 1 + static_cast<int>(below(random, stages < 4 ? 2 : 1));
  *layout.world = World({{"pp", stages}, {"dp", copies}});
  layout.own = {{"dp"}, true};
  layout.common = {"pp", "world"};
  layout.sends = true;
  for (int s = 0; s < stages; ++s) {
    layout.ranks.emplace_back();
    for (int c = 0; c < copies; ++c) layout.ranks.back().push_back(s * copies + c);
  }
  return make_graphs(random, layout);
}

Program random_classes(Random& random) {
  Layout layout;
  int count = 3 + static_cast<int>(below(random, 4));
  *layout.world = World({{"r", count}});
  layout.own.own = false;
  layout.common = {"world"};
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::ranges::shuffle(all, random);
  layout.ranks.resize(2 + below(random, std::min<std::size_t>(3, all.size() - 1)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t mine = i < layout.ranks.size() ? i : below(random, layout.ranks.size());
    layout.ranks[mine].push_back(all[i]);
  }
  for (std::vector<int>& ranks : layout.ranks) std::ranges::sort(ranks);
  for (std::size_t g = 1 + below(random, 3); g > 0; --g) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size <= all.size(); ++size)
      if (all.size() % size == 0 || chance(random, 30)) sizes.push_back(size);
    std::size_t size = sizes[below(random, sizes.size())];
    std::ranges::shuffle(all, random);
    ListedGroup group{fmt::format("q{}", g), {}};
    for (std::size_t from = 0; from + size <= all.size(); from += size)
      group.sets.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(from),
                              all.begin() + static_cast<std::ptrdiff_t>(from + size));
    layout.common.push_back(group.name);
    layout.world->add_group(std::move(group));
  }
  return make_graphs(random, layout);
}

}  // namespace hocket::testing
