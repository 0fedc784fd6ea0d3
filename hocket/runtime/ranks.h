#pragma once
// All ranks of a program at once, each a thread of this process.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hocket/base/trace.h"
#include "hocket/comm/link.h"
#include "hocket/runtime/executor.h"

namespace hocket {

struct RanksOptions {
  /// How many; a program for one rank can be run in any number of copies that do not meet.
  std::optional<int> ranks = {};
  double deadline = 60;  ///< seconds that a rank waits for others at most
  std::optional<comm::Link> link = {};
  /// Called once for each rank; without it the plain kernels run everything.
  std::function<std::unique_ptr<Backend>()> backend = nullptr;
  bool trace = false;  ///< keep the spans of all steps
};

/// Keeps one thread per rank, which sleeps between steps. Transfers go on while ranks compute: a
/// start does not wait, and a wait costs what is left of the transfer. Results are those of
/// `interpret`, bit for bit.
class Ranks final : public Executor {
 public:
  /// For programs of the same world with no other groups, such as its phases. Error when it is for
  /// another number of ranks.
  Ranks(const Program& program, const RanksOptions& options);
  ~Ranks() override;

  int count() const;
  void announce(std::int64_t iteration, int drain) override;
  /// Error, before any rank begins, when inputs do not fit; another step may follow. RunError with
  /// the first cause when a rank fails, after all of them have stopped; from then on every step
  /// throws it. Programs must outlive this where traces are kept.
  std::vector<RankResult> step(const Program& program,
                               std::span<const std::vector<Tensor>> inputs) override;

  /// Of each rank in the last step.
  std::vector<StepTimes> times() const;
  /// Of all steps, when the options ask for it.
  Trace trace() const;
  /// What the bits depend on besides the program.
  std::string numerics() const;

 private:
  struct Crew;
  std::unique_ptr<Crew> crew_;
};

}  // namespace hocket
