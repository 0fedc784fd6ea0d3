#pragma once
// One rank: executes the instructions of a plan, and records what it does when.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "hocket/base/hang_report.h"
#include "hocket/comm/transport.h"
#include "hocket/runtime/arena.h"
#include "hocket/runtime/bound_phase.h"
#include "hocket/runtime/executor.h"
#include "hocket/runtime/recorder.h"

namespace hocket {

/// Used by the thread of this rank, or while that sleeps. In a step nothing is allocated, locked or
/// looked up, unless a trace is kept, an output is held by somebody else, or an input is not
/// row-major in the arena, which is so in no plan that was lowered.
class Rank {
 public:
  /// `number` is shown in messages; `role` is the rank of the program whose part it takes, see
  /// Program::role_of.
  struct Identity {
    int number = 0, role = 0;
  };

  /// Makes the arena and binds all phases to it. `kernels` is for all ranks of a
  /// process. Outputs are written to `outputs`, by index. The plan, the transport and `outputs`
  /// must outlive this. Error when there is no memory, or where the plan does not fit this
  /// machine's kernels.
  Rank(const Plan& plan, Identity identity, comm::Transport& transport, ReferenceKernels& kernels,
       std::unique_ptr<Backend> backend, std::span<Produced> outputs, bool keep_trace);

  /// By input of the graph of the program; the values have been checked. Error while transfers are
  /// in flight.
  void load(std::span<const Tensor> state);
  /// Runs a phase, by its number in the plan, on values that have been checked. RunError with the
  /// node when one fails.
  void run(std::size_t phase, std::span<const Tensor> batch);
  /// By input of the graph of the program; empty for other inputs than state with a start.
  std::vector<Tensor> state() const;
  /// Where a rank is: at an instruction of a phase, or behind the last one.
  struct Position {
    std::size_t phase = 0, instruction = 0;
    double since = 0;  ///< at the earliest, in seconds of the steady clock
  };
  /// For any thread.
  Position position() const {
    std::uint64_t at = at_.load(std::memory_order_relaxed);
    return {at >> 32, at & UINT32_MAX, recorder_.clock()};
  }
  /// After a failed step, before leave(): where the rank stood at the time of the failure.
  StoppedRank stopped(Position at_failure, double failed_at) const;
  /// Leaves all groups. To be called after a failed step; no other step may follow.
  void leave() { groups_.clear(); }

  void announce(std::int64_t iteration, int drain) { recorder_.announce(iteration, drain); }
  const StepTimes& times() const { return recorder_.times(); }
  RankTrace trace() const { return recorder_.trace(); }
  std::int64_t peak_bytes() const { return arena_.highest_changed(); }

 private:
  struct Transfer {
    std::vector<comm::Work> works;  // one for each call
    std::uint32_t lane = 0, label = 0;
    std::int64_t bytes = 0;
    std::int64_t call = -1;  // its number on this rank, for the trace
    const BoundStart* from = nullptr;
    double started_at = 0;
    bool in_flight = false;
  };

  void join_groups(comm::Transport& transport, Identity identity);
  void bind(Identity identity, ReferenceKernels& kernels, bool keep_trace);
  void announce_calls();
  void place_homes();
  void execute(const BoundPhase& phase, const BoundInstruction& i, std::span<const Tensor> batch);
  void start(const BoundStart& s, const BoundInstruction& i);
  void wait(const BoundInstruction& i);
  void progress();
  void give_up(const BoundInstruction& i);
  OpenTransfer open(const Transfer& t, double failed_at) const;
  std::vector<IssuedCalls> issued() const;
  void arrived(std::uint32_t number);
  void put_in(const BoundPhase::HostValue& v, std::span<const Tensor> batch);
  void hand_out(const BoundPhase::HostValue& v);
  std::int64_t call_of(std::int64_t transfer) const {
    return transfer < 0 ? -1 : transfers_[static_cast<std::size_t>(transfer)].call;
  }

  const int number_;
  const Plan& plan_;
  const PlanGraph& graph_;
  const Graph& body_;  // of the program
  std::unique_ptr<Backend> backend_;
  std::span<Produced> outputs_;
  Arena arena_;
  Recorder recorder_;
  std::vector<BoundPhase> phases_;
  std::vector<std::pair<std::size_t, View>> states_;  // those with a start: input and place
  std::vector<Transfer> transfers_;                   // by number
  std::vector<std::uint32_t> in_flight_;              // transfers in the order of their starts
  std::int64_t calls_ = 0, bytes_in_flight_ = 0;
  // The phase in the upper half, the instruction in the lower one.
  std::atomic<std::uint64_t> at_{0};
  std::int64_t iteration_ = 0;
  int drain_ = 0;
  bool testing_ = false;  // of transfers, between two instructions
  enum class Ended { well, with_others, by_itself } ended_ = Ended::well;
  // Last: destroyed before the bytes in flight, which other ranks may use until then.
  std::vector<std::unique_ptr<comm::ProcessGroup>> groups_;
};

}  // namespace hocket
