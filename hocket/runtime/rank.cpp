#include "hocket/runtime/rank.h"

#include <algorithm>
#include <chrono>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Rank::Rank(Identity identity, Groups groups, std::unique_ptr<Backend> backend, bool keep_trace)
    : identity_(identity),
      backend_(std::move(backend)),
      keep_trace_(keep_trace),
      groups_(std::move(groups)) {
  trace_.rank = identity.number;
}

/// Numbers the nodes of a graph for the trace, once.
void Rank::label(const Graph& graph) {
  labels_ = &known_labels_[keep_trace_ ? &graph : nullptr];
  if (keep_trace_ && !labels_->empty()) return;
  labels_->resize(std::max<std::size_t>(labels_->size(), graph.node_bound()));
  if (!keep_trace_) return;
  for (NodeId n : graph.nodes()) {
    (*labels_)[n.index] = static_cast<std::uint32_t>(trace_.labels.size());
    std::string name = graph[n].result_count == 0 ? "" : "%" + graph.name(graph.result(n));
    trace_.labels.push_back(
        {std::move(name), std::string(graph[n].op->name), std::string(graph.path(n))});
  }
}

/// Takes over the transfers that the last step left in flight, for the waits of this step.
void Rank::take_up(const StepProgram& what, std::size_t number) {
  const Graph& graph = what.program.graphs[number];
  auto inputs = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value v = inputs[i].value;
    if (!graph.type(v).pending || graph.uses(v).empty()) continue;
    std::size_t slot = what.slot(number, i);
    if (slot >= handed_on_.size() || !handed_on_[slot].flight)
      fail("rank {}: %{} is in flight, and nobody started it", identity_.number, graph.name(v));
    arriving_[v] = std::exchange(handed_on_[slot], {});
  }
}

void Rank::hand_on(const StepProgram& what, std::size_t number) {
  const Graph& graph = what.program.graphs[number];
  auto inputs = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value next = graph.type(inputs[i].value).pending ? graph.next(inputs[i].value) : Value{};
    if (!next) continue;
    const Arriving& a = arriving_.at(next);
    ++a.flight->holders[a.index];
    std::size_t slot = what.slot(number, i);
    if (handed_on_.size() <= slot) handed_on_.resize(slot + 1);
    handed_on_[slot] = a;
  }
  for (const auto& entry : arriving_) --entry.second.flight->holders[entry.second.index];
  arriving_.clear();
}

RankResult Rank::step(const StepProgram& what, std::span<const Tensor> inputs) {
  std::size_t number = what.program.graph_index(identity_.role);
  const Graph& graph = what.program.graphs[number];
  if (!keep_trace_) {
    trace_.spans.clear();
    trace_.steps.clear();
  }
  label(graph);
  std::size_t first_span = trace_.spans.size();
  clock_ = now();
  trace_.steps.push_back({clock_, clock_, iteration_, drain_});
  NodeId at;
  try {
    take_up(what, number);
    Frame frame(what.program, graph, identity_.role, inputs,
                {.backend = backend_.get(), .in_flight = true});
    for (const auto& flight : in_flight_) frame.hold(flight->done ? 0 : flight->held);
    for (NodeId n : graph.nodes()) {
      at = n;
      if (graph[n].delay != 0) fail("has a delay; run the phases instead");
      run_node(frame, n);
      progress(frame);
    }
    RankResult result = frame.result();
    hand_on(what, number);
    trace_.steps.back().end = now();
    times_ = step_times(std::span(trace_.spans).subspan(first_span));
    announce(iteration_ + 1, 0);
    waited_.clear();
    return result;
  } catch (const Error& e) {
    if (!at) throw;  // an input has a wrong type
    throw RunError(graph.describe(at, e.what()));
  }
}

void Rank::leave() {
  groups_.clear();
  arriving_.clear();
  handed_on_.clear();
  in_flight_.clear();
}

/// Records a span of the compute lane from the end of the last one until now.
void Rank::note(SpanKind kind, std::uint32_t label, std::int64_t call, std::int64_t reads) {
  double end = now();
  trace_.spans.push_back(
      {kind, 0, label, iteration_, std::exchange(clock_, end), end, 0, call, reads});
}

/// A transfer whose result the node is the first to read, or -1.
std::int64_t Rank::first_read(const Node& node) {
  std::int64_t read = -1;
  if (!keep_trace_ || waited_.empty()) return read;
  for (Value v : node.inputs)
    if (auto it = waited_.find(v); it != waited_.end()) {
      read = it->second;
      waited_.erase(it);
    }
  return read;
}

void Rank::run_node(Frame& frame, NodeId n) {
  const Node& node = frame.graph()[n];
  if (node.op->collective != nullptr) return start(frame, n);
  if (node.op->is_wait) {
    frame.finish(n, wait(frame, n));
    return;
  }
  std::vector<Tensor> results = frame.run(n);
  note(SpanKind::kernel, (*labels_)[n.index], -1, first_read(node));
  frame.finish(n, std::move(results));
}

void Rank::start(Frame& frame, NodeId n) {
  const Graph& graph = frame.graph();
  const Node& node = graph[n];
  comm::ProcessGroup& group = *groups_.find(node.attr<std::string>("group"))->second;
  std::shared_ptr<InFlight> flight = start_transfer(frame, n, group);
  flight->call = calls_++;
  flight->label = (*labels_)[n.index];
  flight->holders.resize(node.result_count);
  in_flight_.push_back(flight);
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    if (!graph.uses(graph.result(n, i)).empty()) {
      arriving_[graph.result(n, i)] = {flight, i};
      ++flight->holders[i];
    }
  note(SpanKind::start, flight->label, flight->call, first_read(node));
  frame.finish(n, std::vector<Tensor>(node.result_count));
  if (node.op->is_collective) return;
  flight->wait();
  note(SpanKind::wait, flight->label, flight->call);
  arrived(frame, *flight);
}

std::vector<Tensor> Rank::wait(Frame& frame, NodeId n) {
  const Graph& graph = frame.graph();
  // All operands of a wait are results of one collective.
  std::shared_ptr<InFlight> flight = arriving_.at(graph[n].inputs[0]).flight;
  bool before = flight->done;
  if (!before) flight->wait();
  note(SpanKind::wait, (*labels_)[n.index], flight->call);
  if (!before) arrived(frame, *flight);
  std::vector<Tensor> results;
  for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i) {
    Value v = graph[n].inputs[i];
    auto it = arriving_.find(v);
    Tensor& result = flight->results[it->second.index];
    if (keep_trace_) waited_[graph.result(n, i)] = flight->call;
    if (!frame.last_reader(v)) {
      results.push_back(result);
      continue;
    }
    // Several carries may hold the same result.
    bool last = --flight->holders[it->second.index] == 0;
    results.push_back(last ? std::move(result) : result);
    arriving_.erase(it);
  }
  return results;
}

/// Tests transfers, oldest first, which also does this rank's share of their arithmetic.
void Rank::progress(Frame& frame) {
  constexpr double worth_noting = 2e-6;  // seconds
  while (!in_flight_.empty()) {
    std::shared_ptr<InFlight> flight = in_flight_.front();
    if (!flight->done) {
      bool done = flight->test();
      double time = now();
      if (time - clock_ > worth_noting)
        note(SpanKind::progress, flight->label, flight->call);
      else
        clock_ = time;
      if (!done) return;
      arrived(frame, *flight);
    }
    in_flight_.pop_front();
  }
}

void Rank::arrived(Frame& frame, InFlight& flight) {
  frame.hold(-flight.held);
  flight.operands.clear();
  std::uint32_t lane = lane_of(flight.group);
  for (const comm::Work& w : flight.works) {
    const comm::Transfer& t = w.transfer();
    trace_.spans.push_back(
        {SpanKind::transfer, lane, flight.label, iteration_, t.begin, t.end, t.bytes, flight.call});
  }
}

std::uint32_t Rank::lane_of(const std::string& group) {
  auto found = std::find(trace_.lanes.begin() + 1, trace_.lanes.end(), group);
  if (found == trace_.lanes.end()) found = trace_.lanes.insert(found, group);
  return static_cast<std::uint32_t>(found - trace_.lanes.begin());
}

}  // namespace hocket
