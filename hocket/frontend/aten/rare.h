#pragma once
// Translations of operators of the core set that few training steps contain.

#include <span>
#include <string_view>

#include "hocket/frontend/aten/call.h"

namespace hocket::frontend::rare {

// ---- the parts of rare_rows, one per file
std::span<const Row> pad_rows();
std::span<const Row> scan_rows();
std::span<const Row> window_rows();
std::span<const Row> resample_rows();
std::span<const Row> bag_rows();
std::span<const Row> pair_distance_rows();
std::span<const Row> mask_rows();
std::span<const Row> weight_norm_rows();

/// `self` with `pad` more elements, taken from itself: reflect, replicate or circular.
Value padded_from_itself(Call& c, std::string_view mode);

}  // namespace hocket::frontend::rare
