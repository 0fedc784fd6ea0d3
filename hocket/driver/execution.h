#pragma once
// The executor for a program, as the options of a run ask for it.

#include <memory>
#include <string>

#include "hocket/comm/transport.h"
#include "hocket/driver/run.h"
#include "hocket/runtime/ranks.h"

namespace hocket {

/// Ranks over a transport, or the interpreter.
class Execution {
 public:
  /// Makes the transport. Error when an option has an invalid value.
  Execution(int ranks, const RunOptions& options);
  /// For a program of this many ranks, or this many copies of a program for one rank. Ranks that
  /// run at once execute its plan; the interpreter needs none. Comes first, once.
  void prepare(const Program& program, std::shared_ptr<const Plan> plan);
  LaunchOrder launch_order() const;

  Executor& executor() { return *executor_; }
  /// Null for the interpreter, which has no plan, no times and no trace.
  const Ranks* ranks() const { return ranks_; }
  /// Ends the ranks, then the transport; nothing can be run afterwards.
  void close();

 private:
  int count_;
  const RunOptions& options_;
  std::unique_ptr<comm::Transport> transport_;  // outlives the ranks
  std::unique_ptr<Executor> executor_;
  const Ranks* ranks_ = nullptr;
};

}  // namespace hocket
