#include "hocket/frontend/aten/rare.h"

namespace hocket::frontend {

std::span<const Row> rare_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> rows;
    for (std::span<const Row> part :
         {rare::pad_rows(), rare::scan_rows(), rare::window_rows(), rare::resample_rows(),
          rare::bag_rows(), rare::pair_distance_rows(), rare::mask_rows(),
          rare::weight_norm_rows()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

}  // namespace hocket::frontend
