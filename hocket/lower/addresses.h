#pragma once
// From storages to offsets in an arena.

#include <span>

#include "hocket/lower/sketch.h"

namespace hocket {

/// The phases with all their addresses: what is kept between phases lies in front, what lives in
/// one phase behind it. Error when the arena is larger than `limit` (0: any size will do).
PlanGraph with_addresses(ClassContext& context, std::span<Sketch> sketches, std::int64_t limit);

}  // namespace hocket
