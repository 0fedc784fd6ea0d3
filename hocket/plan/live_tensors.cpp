#include "hocket/plan/live_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace hocket {
namespace {

/// Bytes from a first to behind a last one.
using Range = std::pair<std::int64_t, std::int64_t>;

class Watch {
 public:
  Watch(const Plan& plan, const PlanGraph& graph, const PlanPhase& phase)
      : plan_(plan), graph_(graph), phase_(phase) {}

  std::vector<LiveTensor> run() {
    for (const Home& home : graph_.homes) keep(home);
    std::vector<const Instruction*> started(phase_.transfers);
    for (std::uint32_t t = 0; t < phase_.instructions.size(); ++t) {
      const Instruction& i = phase_.instructions[t];
      const Instruction* uses = &i;
      if (i.kind == InstructionKind::start) started[i.index] = &i;
      if (i.kind == InstructionKind::wait) uses = started[i.index];
      if (uses == nullptr) continue;  // an earlier phase has started it
      for (const Location& l : phase_.operands(*uses)) use(range(l), t);
      for (const Location& l : phase_.results(*uses))
        if (i.kind == InstructionKind::wait)
          use(range(l), t);
        else
          write(l, t, graph_.labels[i.label]);
      if (i.workspace_bytes > 0)
        out_.push_back({"workspace", i.workspace, i.workspace_bytes, t, t, false});
    }
    std::erase_if(out_, [](const LiveTensor& tensor) { return tensor.bytes == 0; });
    std::ranges::stable_sort(out_, [](const LiveTensor& a, const LiveTensor& b) {
      return std::pair(!a.kept, a.first) < std::pair(!b.kept, b.first);
    });
    return std::move(out_);
  }

 private:
  struct Piece {
    std::int64_t end;
    std::size_t tensor;  // in the list
  };

  Range range(const Location& l) const {
    auto [low, high] = plan_.layouts[l.layout].bounds();
    std::int64_t size = bytes(plan_.types[l.type].dtype);
    return {l.offset + low * size, l.offset + (high + 1) * size};
  }

  void keep(const Home& home) {
    auto [begin, end] = range(home.location);
    if (begin >= end || pieces_.contains(begin)) return;
    const Graph& g = plan_.program.graphs[static_cast<std::size_t>(&graph_ - plan_.graphs.data())];
    std::string name = home.kind == HomeKind::constant ? "constant " + home.constant
                                                       : "%" + g.name(g.inputs()[home.input].value);
    auto last = static_cast<std::uint32_t>(phase_.instructions.size());
    add(begin, end, {std::move(name), 0, 0, 0, last, true});
  }

  /// The first piece that reaches into the range.
  std::map<std::int64_t, Piece>::iterator first_in(Range r) {
    auto it = pieces_.upper_bound(r.first);
    if (it != pieces_.begin() && std::prev(it)->second.end > r.first) --it;
    return it;
  }

  void use(Range r, std::uint32_t t) {
    for (auto it = first_in(r); it != pieces_.end() && it->first < r.second; ++it) {
      LiveTensor& tensor = out_[it->second.tensor];
      tensor.last = std::max(tensor.last, t);
    }
  }

  /// What lies there is overwritten. Where the instruction that does so is also the last one to
  /// read it, the new tensor takes its place.
  void end(Range r, std::uint32_t t) {
    for (auto it = first_in(r); it != pieces_.end() && it->first < r.second;) {
      auto [begin, piece] = *it;
      if (out_[piece.tensor].kept) {
        ++it;
        continue;
      }
      it = pieces_.erase(it);
      // The parts beside it live on, each by itself.
      if (begin < r.first) add(begin, r.first, LiveTensor(out_[piece.tensor]));
      if (piece.end > r.second) it = add(r.second, piece.end, LiveTensor(out_[piece.tensor]));
      LiveTensor& tensor = out_[piece.tensor];
      tensor.offset = std::max(begin, r.first);
      tensor.bytes = std::min(piece.end, r.second) - tensor.offset;
      if (tensor.first == t) tensor.bytes = 0;
      if (tensor.last == t && t > 0) tensor.last = t - 1;
    }
  }

  void write(const Location& l, std::uint32_t t, const TraceLabel& label) {
    Range r = range(l);
    if (r.first >= r.second) return;
    // Between the elements there may be those of other tensors.
    if (plan_.layouts[l.layout].is_dense()) end(r, t);
    use(r, t);
    LiveTensor made{label.name.empty() ? label.op : label.name, 0, 0, t, t, false};
    std::int64_t at = r.first;
    for (auto it = first_in(r); it != pieces_.end() && it->first < r.second; ++it) {
      if (at < it->first) add(at, it->first, made);
      at = std::max(at, it->second.end);
    }
    if (at < r.second) add(at, r.second, made);
  }

  std::map<std::int64_t, Piece>::iterator add(std::int64_t begin, std::int64_t end,
                                              LiveTensor tensor) {
    tensor.offset = begin;
    tensor.bytes = end - begin;
    out_.push_back(std::move(tensor));
    return pieces_.insert_or_assign(begin, Piece{end, out_.size() - 1}).first;
  }

  const Plan& plan_;
  const PlanGraph& graph_;
  const PlanPhase& phase_;
  std::map<std::int64_t, Piece> pieces_;  // by first byte; no two share a byte
  std::vector<LiveTensor> out_;
};

}  // namespace

std::vector<LiveTensor> live_tensors(const Plan& plan, std::size_t graph, std::size_t phase) {
  return Watch(plan, plan.graphs[graph], plan.graphs[graph].phases[phase]).run();
}

Peak peak_of(const std::vector<LiveTensor>& tensors) {
  std::map<std::uint32_t, std::int64_t> change;
  for (const LiveTensor& t : tensors) {
    change[t.first] += t.bytes;
    change[t.last + 1] -= t.bytes;
  }
  Peak peak;
  std::int64_t live = 0;
  for (auto [instruction, bytes] : change)
    if ((live += bytes) > peak.bytes) peak = {instruction, live};
  return peak;
}

std::vector<std::int64_t> live_bytes(const std::vector<LiveTensor>& tensors,
                                     std::size_t instructions) {
  std::vector<std::int64_t> live(instructions + 2);
  for (const LiveTensor& t : tensors) {
    live[t.first] += t.bytes;
    live[t.last + 1] -= t.bytes;
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  live.resize(instructions);
  return live;
}

}  // namespace hocket
