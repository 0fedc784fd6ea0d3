#pragma once
// State that a step would keep equal on several ranks, but that does not start equal.

#include <vector>

#include "hocket/base/remark.h"
#include "hocket/frontend/recording.h"

namespace hocket::frontend {

/// A remark for every state whose update passes through an all-reduce over a group within which its
/// initial values differ: such replicas are never equal. The update is followed back from the next
/// value through elementwise steps, optimizers, waits and moves of data; a reduction beyond any
/// other op does not count. Other state that is stored per rank is taken as sharded.
std::vector<Remark> differing_replicas(const Program& program, const Recording& recording);

}  // namespace hocket::frontend
