#pragma once
// A collective between its start and its wait.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hocket/codegen/reference/frame.h"
#include "hocket/comm/process_group.h"

namespace hocket {

/// Owns the bytes that other ranks read and write, so it must not go before the group is done with
/// them or gone.
struct InFlight {
  NodeId node;              ///< of the graph that started it
  std::string group;        ///< on whose lane it is
  std::uint32_t label = 0;  ///< in the trace
  std::vector<Tensor> operands, results;
  std::vector<std::uint32_t> holders;  ///< by result: values that stand for it and will be read
  std::vector<comm::Work> works;       ///< one for each dtype among the members
  std::int64_t held = 0;               ///< bytes of buffers that are no values of the frame
  std::int64_t call = 0;               ///< which one of its rank, for the trace
  bool done = false;

  /// True once everything has arrived; does what can be done now and waits for nobody.
  bool test();
  /// Until everything has arrived; RunError after the group's deadline or when a rank failed.
  void wait();
};

/// Starts the transfers of a collective or a barrier. A result takes the bytes of its operand where
/// that costs nothing and nobody reads the operand any more.
std::shared_ptr<InFlight> start_transfer(Frame& frame, NodeId node, comm::ProcessGroup& group);

}  // namespace hocket
