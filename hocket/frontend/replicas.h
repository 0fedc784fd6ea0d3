#pragma once
// State that is kept equal on several ranks, but does not start equal.

#include <vector>

#include "hocket/base/remark.h"
#include "hocket/frontend/recording.h"

namespace hocket::frontend {

/// A remark for every state whose update passes through an all-reduce over a group within which its
/// initial values differ: its ranks will drift apart from the start. The update is followed back
/// from the next value through elementwise steps, optimizers, waits and moves of data; what lies
/// behind any other op is not the update's own reduction. Other state that is stored per rank is
/// taken as sharded.
std::vector<Remark> differing_replicas(const Program& program, const Recording& recording);

}  // namespace hocket::frontend
