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

Rank::Rank(const Program& program, Identity identity, Groups groups,
           std::unique_ptr<Backend> backend, bool keep_trace)
    : program_(program),
      graph_(program.graph_of(identity.place)),
      identity_(identity),
      groups_(std::move(groups)),
      backend_(std::move(backend)),
      labels_(graph_.node_bound()),
      keep_trace_(keep_trace) {
  for (NodeId n : graph_.nodes()) {
    if (graph_[n].delay != 0) fail("{}: has a delay; run the phases instead", graph_.describe(n));
    labels_[n.index] = static_cast<std::uint32_t>(trace_.labels.size());
    if (!keep_trace) continue;
    std::string name = graph_[n].result_count == 0 ? "" : "%" + graph_.name(graph_.result(n));
    trace_.labels.push_back(
        {std::move(name), std::string(graph_[n].op->name), std::string(graph_.path(n))});
  }
}

RankResult Rank::step(std::span<const Tensor> inputs) {
  if (!keep_trace_) {
    trace_.spans.clear();
    trace_.steps.clear();
  }
  std::size_t first_span = trace_.spans.size();
  clock_ = now();
  trace_.steps.push_back({clock_, clock_});
  NodeId at;
  try {
    Frame frame(program_, graph_, identity_.place, inputs, {.backend = backend_.get()});
    for (NodeId n : graph_.nodes()) {
      at = n;
      run_node(frame, n);
      progress(frame);
    }
    RankResult result = frame.result();
    trace_.steps.back().end = now();
    times_ = step_times(std::span(trace_.spans).subspan(first_span));
    ++iteration_;
    waited_.clear();
    return result;
  } catch (const Error& e) {
    if (!at) throw;  // an input does not fit
    run_fail("{}: {}", graph_.describe(at), e.what());
  }
}

void Rank::leave() {
  groups_.clear();
  arriving_.clear();
  in_flight_.clear();
}

/// The compute lane did this since its last note.
void Rank::note(SpanKind kind, NodeId n, std::int64_t call) {
  double end = now();
  trace_.spans.push_back(
      {kind, 0, labels_[n.index], iteration_, std::exchange(clock_, end), end, 0, call});
}

void Rank::run_node(Frame& frame, NodeId n) {
  const Node& node = graph_[n];
  if (node.op->starts || node.op == &ops::barrier) return start(frame, n);
  if (node.op->waits) {
    frame.finish(n, wait(frame, n));
    return;
  }
  std::vector<Tensor> results = frame.run(n);
  std::int64_t read = -1;
  if (keep_trace_ && !waited_.empty())
    for (Value v : node.inputs)
      if (auto it = waited_.find(v); it != waited_.end()) {
        read = it->second;
        waited_.erase(it);
      }
  note(SpanKind::kernel, n, read);
  frame.finish(n, std::move(results));
}

void Rank::start(Frame& frame, NodeId n) {
  const Node& node = graph_[n];
  comm::ProcessGroup& group = *groups_.find(node.attr<std::string>("group"))->second;
  std::shared_ptr<InFlight> flight = start_transfer(frame, n, group);
  flight->call = calls_++;
  in_flight_.push_back(flight);
  for (std::uint32_t i = 0; i < node.result_count; ++i)
    if (!graph_.uses(graph_.result(n, i)).empty()) arriving_[graph_.result(n, i)] = {flight, i};
  note(SpanKind::start, n, flight->call);
  frame.finish(n, std::vector<Tensor>(node.result_count));
  if (node.op != &ops::barrier) return;
  flight->wait();
  note(SpanKind::wait, n, flight->call);
  arrived(frame, *flight);
}

std::vector<Tensor> Rank::wait(Frame& frame, NodeId n) {
  // All operands of a wait are results of one collective.
  std::shared_ptr<InFlight> flight = arriving_.find(graph_[n].inputs[0])->second.flight;
  bool before = flight->done;
  if (!before) flight->wait();
  note(SpanKind::wait, n, flight->call);
  if (!before) arrived(frame, *flight);
  std::vector<Tensor> results;
  for (std::uint32_t i = 0; i < graph_[n].inputs.size(); ++i) {
    Value v = graph_[n].inputs[i];
    auto it = arriving_.find(v);
    Tensor& result = flight->results[it->second.index];
    if (keep_trace_) waited_[graph_.result(n, i)] = flight->call;
    if (!frame.last_reader(v)) {
      results.push_back(result);
      continue;
    }
    results.push_back(std::move(result));
    arriving_.erase(it);
  }
  return results;
}

/// What arrived meanwhile, oldest first; and the arithmetic of transfers, so that ranks share it.
void Rank::progress(Frame& frame) {
  constexpr double worth_noting = 2e-6;  // seconds
  while (!in_flight_.empty()) {
    std::shared_ptr<InFlight> flight = in_flight_.front();
    if (!flight->done) {
      bool done = flight->test();
      double time = now();
      if (time - clock_ > worth_noting)
        note(SpanKind::progress, flight->node, flight->call);
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
  std::uint32_t lane = lane_of(graph_[flight.node].attr<std::string>("group"));
  for (const comm::Work& w : flight.works) {
    const comm::Transfer& t = w.transfer();
    trace_.spans.push_back({SpanKind::transfer, lane, labels_[flight.node.index], iteration_,
                            t.begin, t.end, t.bytes, flight.call});
  }
}

std::uint32_t Rank::lane_of(const std::string& group) {
  auto found = std::find(trace_.lanes.begin() + 1, trace_.lanes.end(), group);
  if (found == trace_.lanes.end()) found = trace_.lanes.insert(found, group);
  return static_cast<std::uint32_t>(found - trace_.lanes.begin());
}

}  // namespace hocket
