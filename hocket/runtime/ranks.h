#pragma once
// The ranks of a program that this process hosts, each in a thread of its own.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hocket/base/trace.h"
#include "hocket/comm/transport.h"
#include "hocket/runtime/executor.h"

namespace hocket {

struct RanksOptions {
  /// Called once for each rank; without it the reference kernels run everything.
  std::function<std::unique_ptr<Backend>()> backend = nullptr;
  bool trace = false;  ///< keep the spans of all steps
};

/// Keeps one thread, which sleeps between steps, for each rank that the transport hosts here.
/// Transfers overlap with computation: a start does not block, and a wait blocks for the rest of
/// the transfer. Results are those of `interpret`, bit for bit.
class Ranks final : public Executor {
 public:
  /// For programs of the same world with no other groups, such as its phases. The transport must
  /// outlive this, and is for as many ranks as the program: Error otherwise. Of a program for one
  /// rank, each rank of the transport runs a copy; copies do not communicate.
  Ranks(const Program& program, comm::Transport& transport, const RanksOptions& options = {});
  ~Ranks() override;

  std::span<const int> ranks() const override;
  void announce(std::int64_t iteration, int drain) override;
  /// Error, before any rank begins, when inputs have wrong types; another step may follow. RunError
  /// with the first cause when a rank of the world fails, after all local ranks have stopped; every
  /// later step throws it again. Programs must outlive this where traces are kept.
  std::vector<RankResult> step(const StepProgram& what,
                               std::span<const std::vector<Tensor>> inputs) override;

  /// Of each rank in the last step.
  std::vector<StepTimes> times() const;
  /// Of all steps, when the options ask for it.
  Trace trace() const;
  /// What the bits depend on besides the program.
  std::string numerics() const;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace hocket
