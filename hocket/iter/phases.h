#pragma once
// Derives the plain graphs of the kernel iterations of a rotated body: prologue, steady, drain.

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

class Lags;

/// The number of kernel iterations that fill or drain a loop, and the period of the slots of its
/// forwarded state.
struct LoopShape {
  int depth = 0;  ///< see Lags::depth
  int turns = 1;  ///< least common multiple of the slots
  friend bool operator==(LoopShape, LoopShape) = default;
};

/// A kernel iteration runs the nodes with lo <= delay <= hi. Its turn selects the slots of
/// forwarded state.
struct Window {
  int lo = 0;
  int hi = 0;
  int turn = 0;
  friend auto operator<=>(Window, Window) = default;
};

/// O(graph). Throws Error when delays and forwarded state do not fit together.
LoopShape loop_shape(const Graph& body);
LoopShape loop_shape(const Graph& body, const Lags& lags);
/// The common shape of all graphs, since all ranks fill and drain at the same time.
LoopShape loop_shape(const Program& program);

/// The window of kernel iteration t with a fed batch, counted from 0 since the start or the last
/// drain: prologue while t < depth, then steady.
Window step_window(LoopShape shape, std::int64_t t);
/// The window of drain iteration j = 1..depth, after `steps` fed iterations. It is empty (lo > hi)
/// for some j if the run was shorter than the depth of the loop.
Window drain_window(LoopShape shape, std::int64_t steps, int j);
/// The windows of all kernel iterations of runs of any length, ascending.
std::vector<Window> all_windows(LoopShape shape);
/// `prologue 0`, `steady`, `drain 1`, with the turn where there are several; `drain 1 after 2
/// iterations` for a run that is shorter than the loop is deep.
std::string window_name(LoopShape shape, Window window);

/// The graph of one kernel iteration. It has no delays. Every state is declared and keeps its name;
/// it has a next value only where its update runs. A reader that runs ahead of an update that does
/// not run yet reads the state. Forwarded state is one slot, `%v` for a carry with one slot and
/// else `%v_0`, `%v_1`...: it receives a value if it is read, hands one on if it has a next value,
/// and is declared only in these cases. Fed inputs are declared where nodes with delay 0 run,
/// outputs where the iteration they belong to is in the window. Channels stay the same. The body
/// must be verified: its types are taken over. O(graph).
Graph phase(const Graph& body, Window window);
/// The same with given lags, for callers that derive several phases of one body.
Graph phase(const Graph& body, const Lags& lags, Window window);
/// The same for every graph.
Program phase(const Program& program, Window window);

/// The input of the body that an input of a phase corresponds to and, for forwarded state, the
/// slot.
struct PhaseInput {
  std::size_t input = 0;
  int slot = 0;
};
/// For each input of a phase that was derived from this body with this window. O(inputs log
/// inputs).
std::vector<PhaseInput> phase_inputs(const Graph& body, const Graph& phase, Window window);

/// The lag of each output of the body: output i of kernel iteration t belongs to iteration t - lag.
/// A phase has the outputs with lo <= lag <= hi, in this order.
std::vector<int> output_lags(const Graph& body);

/// All phases of a run that is longer than the depth of the loop.
struct Phases {
  LoopShape shape;
  std::vector<Graph> prologue;  ///< kernel iterations 0 .. depth-1
  std::vector<Graph> steady;    ///< by turn: iteration t runs steady[t % turns]
  std::vector<Graph> drain;     ///< by drain iteration and turn: drain[(j - 1) * turns + t % turns]
};
Phases phases(const Graph& body);

}  // namespace hocket
