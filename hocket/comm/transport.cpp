#include "hocket/comm/transport.h"

#include <numeric>
#include <vector>

namespace hocket::comm {

std::unique_ptr<ProcessGroup> Transport::all(int rank) {
  std::vector<int> list(static_cast<std::size_t>(ranks()));
  std::iota(list.begin(), list.end(), 0);
  return group(rank, "world", list);
}

}  // namespace hocket::comm
