#pragma once
// Which tensors a phase keeps where and how long, as its instructions say.

#include <cstdint>
#include <string>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket {

/// Bytes from the instruction that writes them to the last one that uses them. The bytes of a
/// transfer are used until its wait.
struct LiveTensor {
  std::string name;  ///< of the node that wrote it, of the state, or `workspace`
  std::int64_t offset = 0, bytes = 0;
  std::uint32_t first = 0, last = 0;  ///< instructions
  bool kept = false;                  ///< state or a constant: kept between phases
};

/// In the order in which they are written, those that are kept first. A tensor ends where its bytes
/// are overwritten; one that is overwritten in parts is listed in parts. So no two tensors share a
/// byte at any instruction. O(n log n) in the instructions.
std::vector<LiveTensor> live_tensors(const Plan& plan, std::size_t graph, std::size_t phase);

/// The instruction at which most bytes are alive, and how many.
struct Peak {
  std::uint32_t instruction = 0;
  std::int64_t bytes = 0;
};
Peak peak_of(const std::vector<LiveTensor>& tensors);
/// How many are alive at each instruction of the phase.
std::vector<std::int64_t> live_bytes(const std::vector<LiveTensor>& tensors,
                                     std::size_t instructions);

}  // namespace hocket
