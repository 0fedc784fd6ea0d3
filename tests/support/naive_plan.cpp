#include "support/naive_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/tables.h"

namespace hocket::testing {
namespace {

/// Carried from one phase to the next: the numbers of its transfers, one for each slot, and where
/// its results lie.
struct CarriedCollective {
  std::uint32_t first = 0;
  int slots = 1;
  std::vector<std::vector<Location>> results;  // by slot
};

class NaiveGraph {
 public:
  NaiveGraph(Plan& plan, std::size_t number, Tables& tables, Random& random)
      : plan_(plan),
        graph_(plan.graphs[number]),
        body_(plan.program.graphs[number]),
        tables_(tables),
        labels_(graph_),
        random_(random) {}

  void make() {
    find_carried();
    homes();
    for (Window w : all_windows(plan_.shape)) phase(w);
    graph_.arena_bytes = end_ + static_cast<std::int64_t>(below(random_, 100));
  }

 private:
  // ---- memory

  std::int64_t room(std::int64_t bytes) {
    std::int64_t at = end_;
    end_ += (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
    return at;
  }
  Location place(const Type& type) {
    return {room(type.bytes()), tables_.type(type), tables_.row_major(type)};
  }

  /// Dense, with the dimensions in another order in memory.
  Layout random_layout(const Type& type) {
    std::vector<std::size_t> order(type.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    std::vector<Layout::Axis> axes(order.size());
    std::int64_t stride = 1;
    for (std::size_t d : order) {
      axes[d] = {type.shape[d], stride};
      stride *= type.shape[d];
    }
    return Layout(axes);
  }

  // ---- what stays between phases

  /// A collective may cross phases when all its results are carried over as many iterations and
  /// waited for by one node that stands in front of it.
  void find_carried() {
    std::map<NodeId, std::vector<const Input*>> carriers;
    for (const Input& in : body_.inputs()) {
      Value next = body_.type(in.value).pending ? body_.next(in.value) : Value{};
      if (next && !body_.is_input(body_.node(next))) carriers[body_.node(next)].push_back(&in);
    }
    for (const auto& [n, inputs] : carriers) {
      if (chance(random_, 20)) continue;
      NodeId wait;
      bool good = inputs.size() == body_[n].result_count;
      for (Value v : body_.results(n)) good = good && body_.uses(v).size() == 1;
      for (const Input* in : inputs) {
        good = good && in->slots == inputs[0]->slots && body_.uses(in->value).size() == 1;
        if (!good) break;
        NodeId reader = body_.uses(in->value)[0].node;
        good = body_[reader].op->is_wait && (!wait || wait == reader) && body_.before(reader, n);
        wait = reader;
      }
      if (!good) continue;
      CarriedCollective c{graph_.carried_transfers, inputs[0]->slots, {}};
      graph_.carried_transfers += static_cast<std::uint32_t>(c.slots);
      for (int s = 0; s < c.slots; ++s) {
        auto& results = c.results.emplace_back();
        for (Value v : body_.results(n)) results.push_back(place(body_.type(v).ready()));
      }
      for (const Input* in : inputs)
        carried_inputs_[in->value.index] = {n, body_.next(in->value).index - body_[n].first_result};
      carried_.emplace(n, std::move(c));
    }
  }

  void homes() {
    for (std::uint32_t i = 0; i < body_.inputs().size(); ++i) {
      const Input& in = body_.inputs()[i];
      if (!in.state || carried_inputs_.contains(in.value.index)) continue;
      int slots = is_forwarded(body_, in.value) ? in.slots : 1;
      for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(slots); ++s) {
        Location l = place(body_.type(in.value).ready());
        homes_[{i, s}] = l;
        graph_.homes.push_back({HomeKind::state, i, s, "", l});
      }
    }
    add_constants(body_);
  }

  void add_constants(const Graph& g) {
    for (NodeId n : g.nodes()) {
      if (g[n].region) add_constants(*g[n].region);
      const std::string* ref = constant_ref(g[n]);
      if (ref == nullptr || constants_.contains(*ref)) continue;
      Location l = place(g.type(g.result(n)));
      constants_[*ref] = l;
      graph_.homes.push_back({HomeKind::constant, 0, 0, *ref, l});
    }
  }

  // ---- one phase

  struct Transfer {
    std::uint32_t number = 0;
    bool ended = false;
    std::vector<Location> results;
  };

  void phase(Window window) {
    Graph g = hocket::phase(body_, window);
    std::vector<PhaseInput> inputs = phase_inputs(body_, g, window);
    graph_.phases.push_back({.window = window, .transfers = graph_.carried_transfers});
    phase_ = &graph_.phases.back();
    transfers_.clear();
    std::vector<Location> at(g.value_bound());
    carried_values_.clear();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Value v = g.inputs()[k].value;
      Value original = body_.inputs()[inputs[k].input].value;
      auto index = static_cast<std::uint32_t>(inputs[k].input);
      if (auto carried = carried_inputs_.find(original.index); carried != carried_inputs_.end()) {
        CarriedCollective& c = carried_.at(carried->second.first);
        auto slot = static_cast<std::uint32_t>(inputs[k].slot);
        at[v.index] = c.results[slot][carried->second.second];
        carried_values_[v.index] = {carried->second.first, slot};
      } else if (g.inputs()[k].state) {
        at[v.index] = homes_.at({index, static_cast<std::uint32_t>(inputs[k].slot)});
      } else if (!g.uses(v).empty() || chance(random_, 30)) {
        at[v.index] = place(g.type(v));
        add({.kind = InstructionKind::input, .index = index}, {}, {at[v.index]},
            {"%" + g.name(v), "input", ""});
      }
    }
    nodes(g, at, "");
    for (Transfer& t : transfers_)
      if (!t.ended && t.number >= graph_.carried_transfers) wait(t, {}, {"", "wait", ""});
    outputs(g, window, at);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Value next = g.next(g.inputs()[k].value);
      if (!next || carried_values_.contains(g.inputs()[k].value.index)) continue;
      Location from = at[next.index], to = at[g.inputs()[k].value.index];
      if (from != to) copy(from, to, "the state is kept", {"%" + g.name(next), "copy", ""});
    }
  }

  void outputs(const Graph& g, Window window, const std::vector<Location>& at) {
    std::vector<int> lags = output_lags(body_);
    std::vector<Output> outputs = g.outputs();
    std::size_t seen = 0;
    for (std::uint32_t o = 0; o < lags.size(); ++o) {
      if (lags[o] < window.lo || lags[o] > window.hi) continue;
      Value v = outputs[seen++].value;
      add({.kind = InstructionKind::output, .index = o}, {at[v.index]}, {},
          {"%" + g.name(v), "output", std::string(g.path(g.node(v)))});
    }
  }

  void nodes(const Graph& g, std::vector<Location>& at, const std::string& path) {
    for (NodeId n : g.nodes()) {
      const Node& node = g[n];
      std::vector<Location> operands;
      for (Value v : node.inputs) operands.push_back(at[v.index]);
      TraceLabel label{node.result_count > 0 ? "%" + g.name(g.result(n)) : "",
                       std::string(node.op->name), path.empty() ? std::string(g.path(n)) : path};
      if (node.op->collective != nullptr) {
        start(g, n, operands, at, label);
      } else if (node.op->is_wait) {
        wait_for(g, n, at, label);
      } else if (node.region) {
        std::vector<Location> inside(node.region->value_bound());
        auto parameters = node.region->inputs();
        for (std::size_t k = 0; k < parameters.size(); ++k)
          inside[parameters[k].value.index] = operands[k];
        nodes(*node.region, inside, label.path.empty() ? "region" : label.path);
        std::vector<Output> outputs = node.region->outputs();
        for (std::uint32_t k = 0; k < outputs.size(); ++k)
          at[g.result(n, k).index] = inside[outputs[k].value.index];
      } else if (const std::string* ref = constant_ref(node)) {
        at[g.result(n).index] = constants_.at(*ref);
      } else {
        kernel(g, n, operands, at, label);
      }
    }
  }

  /// The bytes are those of this value alone, and it has one reader.
  bool may_overwrite(const Graph& g, Value v, const Location& l) const {
    const Node& maker = g[g.node(v)];
    bool kernel = !g.is_input(g.node(v)) && !maker.region && !maker.op->is_wait &&
                  maker.op->collective == nullptr;
    return kernel && g.uses(v).size() == 1 && made_here_.contains(l.offset);
  }

  void kernel(const Graph& g, NodeId n, const std::vector<Location>& operands,
              std::vector<Location>& at, TraceLabel label) {
    const Node& node = g[n];
    std::vector<Location> results;
    bool any = false;
    for (Value v : g.results(n)) {
      const Type& type = g.type(v);
      any = any || type.elements() > 0;
      Location& l = at[v.index] = place(type);
      if (chance(random_, 10)) l.layout = tables_.layout(random_layout(type));
      results.push_back(l);
    }
    if (!any) return;
    // The first result in the place of an operand that nobody else reads.
    if (!results.empty())
      for (std::size_t k = 0; k < operands.size() && chance(random_, 30); ++k) {
        Value v = node.inputs[static_cast<std::uint32_t>(k)];
        if (!may_overwrite(g, v, operands[k]) || g.type(v) != g.type(g.result(n))) continue;
        results[0] = at[g.result(n).index] = operands[k];
        break;
      }
    for (const Location& l : results) made_here_.insert(l.offset);
    Instruction i{.op = node.op, .attributes = node.attributes};
    if (node.op->expand != nullptr || chance(random_, 20))
      i.backend = static_cast<std::uint8_t>(1 + below(random_, 2));
    if (chance(random_, 15)) {
      i.workspace_bytes = 1 + static_cast<std::int64_t>(below(random_, 1000));
      i.workspace = room(i.workspace_bytes);
    }
    if (chance(random_, 10)) label.op = "composite";
    add(std::move(i), operands, results, std::move(label));
  }

  void start(const Graph& g, NodeId n, std::vector<Location> operands, std::vector<Location>& at,
             const TraceLabel& label) {
    const Node& node = g[n];
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (plan_.layouts[operands[k].layout].is_row_major()) continue;
      Location packed = place(plan_.types[operands[k].type]);
      copy(operands[k], packed, "members of transfers are row-major", label);
      operands[k] = packed;
    }
    // The collective of the body, by its channel.
    auto carried = std::ranges::find_if(carried_, [&](const auto& entry) {
      return body_[entry.first].template attr<std::int64_t>("channel") ==
             node.attr<std::int64_t>("channel");
    });
    Transfer t;
    if (carried != carried_.end()) {
      CarriedCollective& c = carried->second;
      auto slot = static_cast<std::uint32_t>(phase_->window.turn % c.slots);
      t.number = c.first + slot;
      t.results = c.results[slot];
      if (node.op->collective->kind == CollectiveKind::send) {
        copy(operands[0], t.results[0], "it is sent across phases", label);
        operands[0] = t.results[0];
      }
    } else {
      t.number = phase_->transfers++;
      for (std::uint32_t k = 0; k < node.result_count; ++k) {
        bool in_place =
            node.op->collective->kind == CollectiveKind::send ||
            (node.op->collective->elementwise && chance(random_, 40) &&
             g.uses(node.inputs[k]).size() == 1 && made_here_.contains(operands[k].offset));
        t.results.push_back(in_place ? operands[k] : place(g.type(g.result(n, k)).ready()));
      }
    }
    for (std::uint32_t k = 0; k < node.result_count; ++k) at[g.result(n, k).index] = t.results[k];
    const auto& group = node.attr<std::string>("group");
    auto lane = std::ranges::find(graph_.groups, group);
    if (lane == graph_.groups.end()) lane = graph_.groups.insert(lane, group);
    add({.kind = InstructionKind::start,
         .lane = static_cast<std::uint16_t>(lane - graph_.groups.begin() + 1),
         .index = t.number,
         .op = node.op,
         .attributes = node.attributes},
        operands, t.results, label);
    for (std::uint32_t k = 0; k < node.result_count; ++k)
      transfer_of_[g.result(n, k).index] = transfers_.size();
    transfers_.push_back(t);
    // What another phase reads as a value has arrived before.
    bool handed_on = false;
    for (Value v : g.results(n))
      for (Use use : g.uses(v)) handed_on = handed_on || use.node == g.return_node();
    if (carried == carried_.end() && (handed_on || !node.op->is_collective))
      wait(transfers_.back(), {}, label);
  }

  void wait(Transfer& t, const std::vector<Location>& results, const TraceLabel& label) {
    if (std::exchange(t.ended, true)) return;
    add({.kind = InstructionKind::wait, .index = t.number}, {}, results, label);
  }

  void wait_for(const Graph& g, NodeId n, std::vector<Location>& at, const TraceLabel& label) {
    std::vector<Location> arrived;
    for (std::uint32_t k = 0; k < g[n].inputs.size(); ++k)
      arrived.push_back(at[g.result(n, k).index] = at[g[n].inputs[k].index]);
    Value first = g[n].inputs[0];
    if (!g.is_input(g.node(first))) {
      wait(transfers_[transfer_of_.at(first.index)], arrived, label);
      return;
    }
    auto carried = carried_values_.find(first.index);
    if (carried == carried_values_.end()) return;  // has arrived in the phase before
    auto [collective, slot] = carried->second;
    add({.kind = InstructionKind::wait, .index = carried_.at(collective).first + slot}, {}, arrived,
        label);
    for (std::uint32_t k = 0; k < arrived.size(); ++k) {
      Location& l = at[g.result(n, k).index] = place(g.type(g.result(n, k)));
      copy(arrived[k], l, "the next transfer takes its place", label);
    }
  }

  void copy(const Location& from, const Location& to, std::string_view reason,
            const TraceLabel& label) {
    add({.kind = InstructionKind::copy, .index = tables_.reason(reason)}, {from}, {to}, label);
  }

  void add(Instruction i, const std::vector<Location>& operands,
           const std::vector<Location>& results, TraceLabel label) {
    i.label = labels_.add(std::move(label));
    i.locations = static_cast<std::uint32_t>(phase_->locations.size());
    i.operands = static_cast<std::uint32_t>(operands.size());
    i.results = static_cast<std::uint32_t>(results.size());
    phase_->locations.insert(phase_->locations.end(), operands.begin(), operands.end());
    phase_->locations.insert(phase_->locations.end(), results.begin(), results.end());
    phase_->instructions.push_back(std::move(i));
  }

  Plan& plan_;
  PlanGraph& graph_;
  const Graph& body_;
  Tables& tables_;
  Labels labels_;
  Random& random_;
  std::int64_t end_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Location> homes_;  // by input and slot
  std::map<std::string, Location, std::less<>> constants_;
  std::map<NodeId, CarriedCollective> carried_;
  // By value of the body: its collective, and which of its results it is.
  std::map<std::uint32_t, std::pair<NodeId, std::uint32_t>> carried_inputs_;

  // Of the phase at hand.
  PlanPhase* phase_ = nullptr;
  std::set<std::int64_t> made_here_;  // offsets of results of kernels
  std::map<std::uint32_t, std::pair<NodeId, std::uint32_t>> carried_values_;  // collective and slot
  std::vector<Transfer> transfers_;
  std::map<std::uint32_t, std::size_t> transfer_of_;  // by value
};

/// A random permutation of 0 .. n-1 and, for each, where it has gone.
std::vector<std::uint32_t> permutation(std::size_t n, Random& random) {
  std::vector<std::uint32_t> to(n);
  std::iota(to.begin(), to.end(), 0);
  std::ranges::shuffle(to, random);
  return to;
}

template <class T>
std::vector<std::uint32_t> shuffle_table(std::vector<T>& table, T extra, Random& random) {
  table.push_back(std::move(extra));
  std::vector<std::uint32_t> to = permutation(table.size(), random);
  std::vector<T> moved(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) moved[to[i]] = std::move(table[i]);
  table = std::move(moved);
  return to;
}

}  // namespace

Plan naive_plan(const Program& program, Random& random) {
  Plan plan;
  plan.origin = {"0.1.0", "step.hkt", "none", "a \"processor\"", "", 1};
  plan.source = plan.program = program;
  if (chance(random, 25)) plan.changed = program;
  plan.shape = loop_shape(program);
  plan.backends = {"reference", "library", "compiled"};
  plan.graphs.resize(program.graphs.size());
  Tables tables(plan);
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) NaiveGraph(plan, g, tables, random).make();
  return plan;
}

Plan shuffled(const Plan& plan, Random& random) {
  Plan out = plan;
  auto types = shuffle_table(out.types, Type{DType::u8, false, {7, 7, 7}}, random);
  auto layouts = shuffle_table(out.layouts, Layout{{3, 77}}, random);
  auto reasons = shuffle_table(out.reasons, std::string("no reason"), random);
  std::swap(out.backends[1], out.backends[2]);
  for (PlanGraph& g : out.graphs) {
    auto labels = shuffle_table(g.labels, TraceLabel{"%unused", "neg", ""}, random);
    auto groups = shuffle_table(g.groups, std::string("unused"), random);
    auto move = [&](Location& l) { l = {l.offset, types[l.type], layouts[l.layout]}; };
    for (Home& home : g.homes) move(home.location);
    for (PlanPhase& phase : g.phases) {
      for (Location& l : phase.locations) move(l);
      for (Instruction& i : phase.instructions) {
        i.label = labels[i.label];
        if (i.backend > 0) i.backend = static_cast<std::uint8_t>(3 - i.backend);
        if (i.lane > 0) i.lane = static_cast<std::uint16_t>(groups[i.lane - 1u] + 1);
        if (i.kind == InstructionKind::copy) i.index = reasons[i.index];
      }
    }
  }
  return out;
}

}  // namespace hocket::testing
