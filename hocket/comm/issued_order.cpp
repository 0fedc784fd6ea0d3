#include "hocket/comm/issued_order.h"

#include <fmt/core.h>

namespace hocket::comm {

std::string IssuedCall::text() const {
  std::string out(name(kind));
  if (reduce != Reduce::sum) out += fmt::format(" {}", name(reduce));
  if (kind != Kind::barrier) out += fmt::format(" of {} {}", elements, name(dtype));
  if (members > 1) out += fmt::format(" in {} members", members);
  return out + fmt::format(" on channel {}", channel);
}

}  // namespace hocket::comm
