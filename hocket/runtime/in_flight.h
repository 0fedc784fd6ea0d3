#pragma once
// A collective between its start and its wait.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hocket/codegen/reference/frame.h"
#include "hocket/comm/process_group.h"

namespace hocket {

/// Owns the bytes that other ranks read and write, so it must live until the group has finished
/// with them or has been destroyed.
struct InFlight {
  NodeId node;              ///< of the graph that started it
  std::string group;        ///< whose lane it is on
  std::uint32_t label = 0;  ///< in the trace
  std::vector<Tensor> operands, results;
  std::vector<std::uint32_t> holders;  ///< by result: how many values refer to it and will be read
  std::vector<comm::Work> works;       ///< one for each dtype among the members
  std::int64_t held = 0;               ///< bytes of buffers that are not values of the frame
  std::int64_t call = 0;               ///< its number on this rank, for the trace
  bool done = false;

  /// True once everything has arrived; makes progress without blocking.
  bool test();
  /// Blocks until all has arrived; RunError after the group's deadline or when a rank failed.
  void wait();
};

/// Starts the transfers of a collective or a barrier. A result reuses the bytes of its operand
/// where no copy is needed and the operand has no further readers.
std::shared_ptr<InFlight> start_transfer(Frame& frame, NodeId node, comm::ProcessGroup& group);

}  // namespace hocket
