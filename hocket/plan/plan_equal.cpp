#include <algorithm>

#include "hocket/plan/plan.h"

namespace hocket {
namespace {

bool same_attributes(const Attributes& a, const Attributes& b) {
  auto x = a.values(), y = b.values();
  return (x.data() == y.data() || std::equal(x.begin(), x.end(), y.begin(), y.end(), same)) &&
         std::ranges::equal(a.list_sizes(), b.list_sizes());
}

class PlanComparison {
 public:
  PlanComparison(const Plan& a, const Plan& b) : a_(a), b_(b) {}

  bool equal(const PlanGraph& a, const PlanGraph& b) const {
    return a.arena_bytes == b.arena_bytes && a.carried_transfers == b.carried_transfers &&
           std::ranges::equal(a.homes, b.homes,
                              [&](const Home& x, const Home& y) { return equal(x, y); }) &&
           std::ranges::equal(a.phases, b.phases, [&](const PlanPhase& x, const PlanPhase& y) {
             return equal(a, x, b, y);
           });
  }

 private:
  bool equal(const Location& x, const Location& y) const {
    return x.offset == y.offset && a_.types[x.type] == b_.types[y.type] &&
           a_.layouts[x.layout] == b_.layouts[y.layout];
  }

  bool equal(const Home& x, const Home& y) const {
    if (x.kind != y.kind || !equal(x.location, y.location)) return false;
    return x.kind == HomeKind::constant ? x.constant == y.constant
                                        : x.input == y.input && x.slot == y.slot;
  }

  bool equal(std::span<const Location> x, std::span<const Location> y) const {
    return std::ranges::equal(x, y,
                              [&](const Location& p, const Location& q) { return equal(p, q); });
  }

  bool equal(const PlanGraph& g, const PlanPhase& a, const PlanGraph& h, const PlanPhase& b) const {
    if (a.window != b.window || a.transfers != b.transfers) return false;
    return std::ranges::equal(
        a.instructions, b.instructions, [&](const Instruction& x, const Instruction& y) {
          return x.kind == y.kind && g.labels[x.label] == h.labels[y.label] &&
                 equal(a.operands(x), b.operands(y)) && equal(a.results(x), b.results(y)) &&
                 equal_by_kind(g, x, h, y);
        });
  }

  /// The fields that only some kinds have.
  bool equal_by_kind(const PlanGraph& g, const Instruction& x, const PlanGraph& h,
                     const Instruction& y) const {
    switch (x.kind) {
      case InstructionKind::kernel:
        return x.op == y.op && a_.backends[x.backend] == b_.backends[y.backend] &&
               x.workspace_bytes == y.workspace_bytes &&
               (x.workspace_bytes == 0 || x.workspace == y.workspace) &&
               same_attributes(x.attributes, y.attributes);
      case InstructionKind::start:
        return x.op == y.op && x.index == y.index &&
               g.groups[x.lane - 1u] == h.groups[y.lane - 1u] &&
               same_attributes(x.attributes, y.attributes);
      case InstructionKind::copy:
        return a_.reasons[x.index] == b_.reasons[y.index];
      case InstructionKind::wait:
      case InstructionKind::input:
      case InstructionKind::output:
        return x.index == y.index;
    }
    return false;
  }

  const Plan &a_, &b_;
};

}  // namespace

bool operator==(const Plan& a, const Plan& b) {
  PlanComparison comparison(a, b);
  return a.origin == b.origin && a.source == b.source && a.changed == b.changed &&
         a.program == b.program && a.shape == b.shape &&
         std::ranges::equal(a.graphs, b.graphs, [&](const PlanGraph& x, const PlanGraph& y) {
           return comparison.equal(x, y);
         });
}

}  // namespace hocket
