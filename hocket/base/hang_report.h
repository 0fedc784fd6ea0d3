#pragma once
// Where every rank stood when a run failed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hocket/base/trace.h"

namespace hocket {

enum class Standing : std::uint8_t {
  starts,    ///< handed a transfer over
  waits,     ///< waited for a transfer
  tests,     ///< looked at transfers in flight between two instructions
  computes,  ///< ran any other instruction
  done,      ///< had executed all instructions of the iteration
  failed,    ///< could not execute an instruction: the cause of the failure
};

/// A transfer that a rank has started and not seen the end of.
struct OpenTransfer {
  std::string node, op, group;  ///< node as `%h`
  std::int64_t channel = 0;
  double seconds = 0;        ///< since its start
  std::vector<int> missing;  ///< ranks that have not started it
};

/// The last collectives that a rank has started in one group, or the last sends (receives) between
/// it and one other rank.
struct IssuedCalls {
  struct Call {
    std::int64_t number = 0;  ///< in the sequence, from 0
    std::uint64_t order = 0;  ///< hash of all calls up to this one
    std::string text;         ///< `%h = all_reduce of 64 f32 on channel 3`
  };
  std::string group;
  std::vector<int> ranks;  ///< of a pair, first the one that sends
  bool pair = false;
  std::int64_t count = 0;  ///< of all calls that were started
  std::vector<Call> calls;
};

/// One rank. Times are seconds before the failure.
struct StoppedRank {
  int rank = 0;
  Standing state = Standing::computes;
  double seconds = 0;  ///< in this state; of a rank that computes, at most
  std::int64_t iteration = 0;
  int drain = 0;      ///< counted from 1, in an iteration of a drain
  std::string phase;  ///< as in the plan
  std::int64_t instruction = 0, instructions = 0;
  std::string text;  ///< of the instruction, as in the plan; empty when it is done
  TraceLabel label;  ///< the node of the instruction
  std::optional<OpenTransfer> waits_for;
  std::vector<OpenTransfer> in_flight;  ///< in the order of their starts
  std::vector<IssuedCalls> issued;
};

/// The first call of a sequence in which two ranks differ.
struct OrderDifference {
  std::string group;
  std::vector<int> members;  ///< of the sequence: see IssuedCalls::ranks
  bool pair = false;
  int ranks[2] = {0, 0};
  std::int64_t number = 0;
};

struct HangReport {
  std::string error;               ///< the first cause, in one line
  std::vector<StoppedRank> ranks;  ///< those of this process
  std::vector<OrderDifference> differences;
};

/// For each sequence of calls, the first rank that differs from the first one that has it, and
/// where where they differ first; as far as the last calls of both tell. O(calls in the report).
std::vector<OrderDifference> find_differences(const std::vector<StoppedRank>& ranks);

}  // namespace hocket
