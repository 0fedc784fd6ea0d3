#pragma once
// Finds state that a step keeps equal on several ranks, but whose initial values differ.

#include <vector>

#include "hocket/base/remark.h"
#include "hocket/frontend/recording.h"

namespace hocket::frontend {

/// A remark for every state whose update passes through an all-reduce over a group within which its
/// initial values differ: such replicas are never equal. The update is followed back from the next
/// value through elementwise ops, optimizers, waits and data movement; reductions before any other
/// op do not count. Other state that is stored per rank is assumed to be sharded.
std::vector<Remark> differing_replicas(const Program& program, const Recording& recording);

}  // namespace hocket::frontend
