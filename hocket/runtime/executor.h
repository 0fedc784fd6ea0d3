#pragma once
// The interface for running the iterations of a program on ranks of a world.

#include <span>
#include <string>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"
#include "hocket/iter/phases.h"

namespace hocket {

/// An output of an iteration.
struct Produced {
  std::int64_t iteration = 0;  ///< that it belongs to; set by Loop
  int rank = 0;                ///< its number in the world
  std::size_t output = 0;      ///< index among the outputs of the rank's graph
  Tensor value;
};

/// Runs the kernel iterations of a program, and keeps its state between them. One object serves one
/// loop at a time; Loop decides which iterations are run.
///
/// Tables of values are by rank of this executor, in its order, and by input of the rank's graph.
/// What a table need not have is ignored, and may be empty; a row may leave out the inputs at its
/// end.
class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// As it was when this object was made.
  virtual const Program& program() const = 0;
  /// The ranks that this object runs, ascending; others of the world may run elsewhere.
  virtual std::span<const int> ranks() const = 0;

  /// Sets all state that has an initial value. Error when one is missing or has another type, or
  /// while transfers are in flight. A loop may be loaded again after it was drained.
  virtual void load(const InputTables& state) = 0;
  /// Names the next iteration for traces: an iteration of the loop, or the `drain`th drain
  /// iteration after it. Without this call iterations are counted.
  virtual void announce(std::int64_t iteration, int drain) { (void)iteration, (void)drain; }
  /// One kernel iteration of all ranks. A window with delay 0 takes a batch. Returns the outputs of
  /// the window by rank and index, valid until the next call; a tensor that nobody else holds by
  /// then may be overwritten. Error, before any rank begins, when a value of the batch is missing
  /// or has another type; another call may follow. RunError when a rank fails.
  virtual std::span<Produced> run(Window window, const InputTables& batch) = 0;
  /// The state that load() sets, as it is now.
  virtual InputTables state() const = 0;
  /// Of any rank so far.
  virtual std::int64_t peak_bytes() const = 0;

 protected:
  Executor() = default;
};

/// Error unless the table has a row for each rank, and in it a value of the right type for each
/// input that is fed, or for each state with an initial value.
void require_batch(const Program& program, std::span<const int> ranks, const InputTables& table);
void require_state(const Program& program, std::span<const int> ranks, const InputTables& table);

/// What the bits depend on besides the program, with this backend; null: the reference kernels.
std::string numerics_of(const Backend* backend);

}  // namespace hocket
