#pragma once
// One rank: walks its graph, computes, starts transfers and waits for them, and records a trace.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/base/trace.h"
#include "hocket/codegen/reference/frame.h"
#include "hocket/comm/process_group.h"
#include "hocket/runtime/executor.h"
#include "hocket/runtime/in_flight.h"

namespace hocket {

/// Used only by the thread of this rank.
class Rank {
 public:
  /// `number` is shown in messages; `role` is the rank of the program whose part it takes, see
  /// Program::role_of.
  struct Identity {
    int number = 0, role = 0;
  };
  using Groups = std::map<std::string, std::unique_ptr<comm::ProcessGroup>, std::less<>>;

  Rank(Identity identity, Groups groups, std::unique_ptr<Backend> backend, bool keep_trace);

  /// One iteration of this rank's graph in the program, which must outlive this where traces are
  /// kept. Transfers that the step before left in flight are taken from their slots. Error when an
  /// input has a wrong type, RunError with the node when a node fails.
  RankResult step(const StepProgram& what, std::span<const Tensor> inputs);
  /// Names the next step in traces.
  void announce(std::int64_t iteration, int drain) { iteration_ = iteration, drain_ = drain; }
  /// After a failed step: leaves all groups, then frees the bytes that they used.
  void leave();

  const StepTimes& times() const { return times_; }  ///< of the last step
  const RankTrace& trace() const { return trace_; }  ///< of all steps, or of the last one
  const Backend* backend() const { return backend_.get(); }

 private:
  struct Arriving {
    std::shared_ptr<InFlight> flight;
    std::uint32_t index;  // among its results
  };

  void label(const Graph& graph);
  void take_up(const StepProgram& what, std::size_t graph);
  void hand_on(const StepProgram& what, std::size_t graph);
  void run_node(Frame& frame, NodeId n);
  void start(Frame& frame, NodeId n);
  std::vector<Tensor> wait(Frame& frame, NodeId n);
  void progress(Frame& frame);
  void arrived(Frame& frame, InFlight& flight);
  std::int64_t first_read(const Node& node);
  void note(SpanKind kind, std::uint32_t label, std::int64_t call = -1, std::int64_t reads = -1);
  std::uint32_t lane_of(const std::string& group);

  Identity identity_;
  std::unique_ptr<Backend> backend_;
  std::deque<std::shared_ptr<InFlight>> in_flight_;  // in the order of their starts
  std::unordered_map<Value, Arriving> arriving_;     // pending values that will be read
  std::vector<Arriving> handed_on_;                  // by slot: in flight between two steps
  std::map<const Graph*, std::vector<std::uint32_t>>
      known_labels_;                              // by graph, where traces are kept
  std::vector<std::uint32_t>* labels_ = nullptr;  // of this step, by NodeId::index, in trace_
  RankTrace trace_;
  StepTimes times_;
  bool keep_trace_;
  std::int64_t iteration_ = 0, calls_ = 0;
  int drain_ = 0;
  double clock_ = 0;                                // when the last span of the compute lane ended
  std::unordered_map<Value, std::int64_t> waited_;  // results of waits that are not read yet
  Groups
      groups_;  // last: destroyed before the bytes in flight, which other ranks may use until then
};

}  // namespace hocket
