#pragma once
// One kernel by itself, on row-major values.

#include <memory>
#include <span>

#include "hocket/codegen/backend.h"

namespace hocket {

/// Binds a kernel to row-major values, whatever its ports want. A run copies where a port wants
/// another layout. The buffers of the copies and the workspace belong to what is returned. A plan
/// does better: it copies once for all readers, and keeps a layout from one kernel to the next.
std::unique_ptr<BoundKernel> bind_row_major(Backend& backend, const Kernel& kernel,
                                            std::span<const ConstView> operands,
                                            std::span<const View> results);

/// Runs a node by the kernel of the backend; no results where it declines.
std::vector<Tensor> run_by(Backend& backend, const Graph& graph, NodeId node,
                           std::span<const Tensor> inputs, int rank = 0);

}  // namespace hocket
