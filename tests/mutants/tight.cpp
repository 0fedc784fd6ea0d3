#include "tight.h"

#include <fmt/core.h>

#include <vector>

#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {
namespace {

/// The text of a graph, line by line. Tensors are f32[96], or parts of one that begin at multiples
/// of 64 bytes.
class TightGraph {
 public:
  explicit TightGraph(Random& random) : random_(random) {}

  std::string value() { return values_[below(random_, values_.size())]; }
  std::string fresh() { return fmt::format("%v{}", count_++); }
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  void add_value(const std::string& v) { values_.push_back(v); }

  void states(std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      inputs_ += fmt::format("{}%w{}: state f32[96] \"w{}\" parameter", k > 0 ? ", " : "", k, k);
      add_value(fmt::format("%w{}", k));
    }
    states_ = count;
    inputs_ += count > 0 ? ", %x: f32[96]" : "%x: f32[96]";
    add_value("%x");
  }

  void compute() {
    if (chance(random_, 10)) return halves("", 0);
    std::string v = fresh();
    if (chance(random_, 50))
      line(fmt::format("{}: f32[96] = neg({})", v, value()));
    else
      line(fmt::format("{}: f32[96] = {}({}, {})", v, chance(random_, 50) ? "add" : "mul", value(),
                       value()));
    add_value(v);
  }

  /// A start whose results are f32[96] each.
  void start(std::string_view call, std::size_t results, const std::string& operands,
             const std::string& attributes, std::int64_t channel) {
    Pending p;
    std::string left;
    for (std::size_t k = 0; k < results; ++k) {
      p.names.push_back(fresh());
      left += fmt::format("{}{}: pending f32[96]", k > 0 ? ", " : "", p.names.back());
    }
    line(fmt::format("{} = {}{} {{{}channel={}}}", left, call, operands, attributes, channel));
    pending_.push_back(p);
  }

  /// Two halves go their own ways and come together again: each through a collective, or none.
  void halves(const std::string& collective, std::int64_t channel) {
    std::string whole = value(), parts;
    for (int k : {0, 1}) {
      std::string part = fresh(), started = fresh(), made = fresh();
      line(fmt::format("{}: f32[48] = slice({}) {{starts=[{}], stops=[{}]}}", part, whole, 48 * k,
                       48 * (k + 1)));
      if (collective.empty()) {
        line(fmt::format("{}: f32[48] = neg({})", made, part));
      } else {
        line(fmt::format("{}: pending f32[48] = all_reduce({}) {{{}channel={}}}", started, part,
                         collective, channel + k));
        line(fmt::format("{}: f32[48] = wait({})", made, started));
      }
      parts += (k > 0 ? ", " : "") + made;
    }
    std::string v = fresh();
    line(fmt::format("{}: f32[96] = concat({}) {{dim=0}}", v, parts));
    add_value(v);
  }

  /// Reduced to a part for each rank, computed with, and gathered.
  void scatter(int ranks, const std::string& group, std::int64_t channel) {
    std::string type = fmt::format("f32[{}]", 96 / ranks), h = fresh(), part = fresh(),
                made = fresh(), g = fresh(), v = fresh();
    line(fmt::format("{}: pending {} = reduce_scatter({}) {{{}reduce=\"sum\", channel={}}}", h,
                     type, value(), group, channel));
    line(fmt::format("{}: {} = wait({})", part, type, h));
    line(fmt::format("{}: {} = neg({})", made, type, part));
    line(fmt::format("{}: pending f32[96] = all_gather({}) {{{}channel={}}}", g, made, group,
                     channel + 1));
    line(fmt::format("{}: f32[96] = wait({})", v, g));
    add_value(v);
  }

  void wait() {
    if (pending_.empty()) return;
    std::size_t k = below(random_, pending_.size());
    Pending p = pending_[k];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(k));
    std::string left, right;
    for (std::size_t m = 0; m < p.names.size(); ++m) {
      std::string v = fresh();
      left += fmt::format("{}{}: f32[96]", m > 0 ? ", " : "", v);
      right += (m > 0 ? ", " : "") + p.names[m];
      add_value(v);
    }
    line(fmt::format("{} = wait({})", left, right));
  }

  void end() {
    while (!pending_.empty()) wait();
    for (std::size_t k = 0; k < states_; ++k)
      if (chance(random_, 80)) line(fmt::format("next %w{} = {}", k, values_.back()));
    std::string outputs = values_.back();
    if (chance(random_, 40)) outputs += ", " + value();
    line("return " + outputs);
  }

  std::string text(std::string_view head) const {
    return fmt::format("graph {} ({}) {{\n{}}}\n", head, inputs_, body_);
  }

 private:
  struct Pending {
    std::vector<std::string> names;
  };

  Random& random_;
  std::string inputs_, body_;
  std::size_t states_ = 0;
  int count_ = 0;
  std::vector<std::string> values_;
  std::vector<Pending> pending_;
};

/// One or two collectives, after which there are more values.
void meet(Random& random, TightGraph& g, int ranks, const std::string& group,
          std::int64_t channel) {
  const char* reduce = chance(random, 70) ? "sum" : "max";
  std::size_t members = chance(random, 25) ? 2 : 1;
  std::string operands = "(" + g.value();
  for (std::size_t k = 1; k < members; ++k) operands += ", " + g.value();
  operands += ")";
  std::string at = fmt::format("group=\"{}\", ", group);
  switch (below(random, 10)) {
    case 3:
      return g.halves(at + fmt::format("reduce=\"{}\", ", reduce), channel);
    case 4:
      return g.scatter(ranks, at, channel);
    case 0:
      return g.start("broadcast_from", members, operands, at + "root=0, ", channel);
    case 1:
      return g.start("all_to_all", 1, "(" + g.value() + ")", at, channel);
    case 2:
      return g.start("reduce", members, operands,
                     at + fmt::format("reduce=\"{}\", root=0, ", reduce), channel);
    default:
      return g.start("all_reduce", members, operands, at + fmt::format("reduce=\"{}\", ", reduce),
                     channel);
  }
}

}  // namespace

Program tight_program(Random& random) {
  int ranks = chance(random, 75) ? 2 : 3;
  bool two_groups = chance(random, 40);
  std::string text = fmt::format("mesh(dp={})\n", ranks);
  if (two_groups) text += fmt::format("group \"other\" = [{}]\n", ranks == 2 ? "[0,1]" : "[0,1,2]");
  auto group = [&] { return std::string(two_groups && chance(random, 50) ? "other" : "dp"); };
  std::size_t graphs = ranks == 2 && chance(random, 40) ? 2 : 1;
  std::vector<TightGraph> all;
  std::size_t states = below(random, 3);
  for (std::size_t g = 0; g < graphs; ++g) {
    all.emplace_back(random);
    all.back().states(states);
  }
  std::int64_t channel = 0;
  for (std::size_t events = 2 + below(random, 3); events > 0; --events) {
    for (TightGraph& g : all) {
      for (std::size_t n = below(random, 3); n > 0; --n) g.compute();
      if (chance(random, 30)) g.wait();
    }
    if (graphs == 2 && chance(random, 50)) {
      std::size_t from = below(random, 2);
      std::string at = "group=\"" + group() + "\", ";
      all[from].start("send", 1, "(" + all[from].value() + ")",
                      at + fmt::format("to={}, ", 1 - from), channel);
      all[1 - from].start("recv", 1, "", at + fmt::format("from={}, type=f32[96], ", from),
                          channel);
    } else {
      // Graphs must agree on the kind, so they draw from one generator state.
      std::string name = group();
      Random same = random;
      for (TightGraph& g : all) {
        Random mine = same;
        meet(mine, g, ranks, name, channel);
      }
      random.discard(7);
    }
    channel += 2;
  }
  for (std::size_t g = 0; g < graphs; ++g) {
    all[g].end();
    text += all[g].text(graphs == 1 ? "step" : fmt::format("rank{} on [{}]", g, g));
  }
  return parse(text, ops::all());
}

}  // namespace hocket::testing
