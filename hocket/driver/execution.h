#pragma once
// What runs a program, as the options of a run ask for it.

#include <memory>
#include <string>

#include "hocket/comm/transport.h"
#include "hocket/driver/run.h"
#include "hocket/runtime/ranks.h"

namespace hocket {

/// Ranks over a transport, or the interpreter.
class Execution {
 public:
  /// For a program of this many ranks, or so many copies of a program for one. Error when an option
  /// has a value that it cannot have.
  Execution(const Program& program, int ranks, const RunOptions& options);

  Executor& executor() { return *executor_; }
  /// Null where the interpreter runs: it has no times and no trace.
  const Ranks* ranks() const { return ranks_; }
  /// What the bits depend on besides the program.
  const std::string& numerics() const { return numerics_; }
  /// Nothing more will be run: gives up the ranks, then the transport.
  void close();

 private:
  std::unique_ptr<comm::Transport> transport_;  // outlives the ranks
  std::unique_ptr<Executor> executor_;
  const Ranks* ranks_ = nullptr;
  std::string numerics_;
};

}  // namespace hocket
