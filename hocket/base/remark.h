#pragma once
// What a pass did or refused, and why.

#include <string>

namespace hocket {

struct Remark {
  std::string where;  ///< a node, a tensor, a pass
  std::string what;   ///< what was done or refused
  std::string why;
  double seconds = 0;  ///< seconds gained or lost, if known
  std::string pass;    ///< filled in by the pass runner

  friend bool operator==(const Remark&, const Remark&) = default;
};

}  // namespace hocket
