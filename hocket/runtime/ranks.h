#pragma once
// The ranks of a program that this process hosts, each in a thread of its own.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hocket/base/hang_report.h"
#include "hocket/base/trace.h"
#include "hocket/comm/transport.h"
#include "hocket/plan/plan.h"
#include "hocket/runtime/executor.h"

namespace hocket {

struct RanksOptions {
  /// Called once for each rank; without it the reference kernels run everything.
  std::function<std::unique_ptr<Backend>()> backend = nullptr;
  bool trace = false;  ///< keep the spans of all steps
};

/// Executes a plan. Keeps one thread, which sleeps between steps, for each rank that the transport
/// hosts here. Transfers overlap with computation: a start does not block, and a wait blocks for
/// the rest of the transfer. Results are those of `interpret`, bit for bit.
class Ranks final : public Executor {
 public:
  /// Makes the arenas, prepares all kernels, and joins the groups. The transport must outlive this,
  /// and is for as many ranks as the plan's program: Error otherwise, and where the plan does not
  /// fit the kernels of this machine. Of a plan for one rank, each rank of the transport runs a
  /// copy; copies do not communicate.
  Ranks(std::shared_ptr<const Plan> plan, comm::Transport& transport,
        const RanksOptions& options = {});
  Ranks(Plan plan, comm::Transport& transport, const RanksOptions& options = {});
  /// Lowers the program with a backend of the options.
  Ranks(const Program& program, comm::Transport& transport, const RanksOptions& options = {});
  ~Ranks() override;

  const Plan& plan() const;
  const Program& program() const override { return plan().program; }
  std::span<const int> ranks() const override;
  void load(const InputTables& state) override;
  void announce(std::int64_t iteration, int drain) override;
  /// RunError with the first cause when a rank of the world fails, after all local ranks have
  /// stopped; every later call throws it again.
  std::span<Produced> run(Window window, const InputTables& batch) override;
  InputTables state() const override;
  /// Up to the highest byte of an arena that was written.
  std::int64_t peak_bytes() const override;
  /// Of the largest arena.
  std::int64_t planned_peak_bytes() const;

  /// Of each rank in the last step.
  std::vector<StepTimes> times() const;
  /// After run() has thrown: where all ranks stood when the first one failed.
  const HangReport& hang_report() const;
  /// Of all steps, when the options ask for it.
  Trace trace() const;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace hocket
