#include "hocket/base/trace.h"

#include <algorithm>

namespace hocket {

double length_of_union(std::span<std::pair<double, double>> intervals) {
  std::ranges::sort(intervals);
  double total = 0, covered = -1;
  for (auto [begin, end] : intervals) {
    total += std::max(0.0, end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  return total;
}

}  // namespace hocket
