#include "hocket/comm/process_group.h"

#include <algorithm>
#include <array>

namespace hocket::comm {

std::string_view name(Kind kind) {
  static constexpr std::array<std::string_view, 9> names{
      "all_reduce", "reduce", "all_gather", "reduce_scatter", "all_to_all",
      "broadcast",  "send",   "recv",       "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(Reduce reduce) {
  static constexpr std::array<std::string_view, 5> names{"sum", "avg", "min", "max", "product"};
  return names[static_cast<std::size_t>(reduce)];
}

bool Work::test() {
  if (ticket_ != nullptr && group_->finish(ticket_, 0, transfer_)) ticket_ = nullptr;
  return ticket_ == nullptr;
}

void Work::wait() {
  if (ticket_ != nullptr) wait(group_->deadline());
}

void Work::wait(double seconds) {
  if (ticket_ == nullptr) return;
  group_->finish(ticket_, std::max(seconds, 1e-9), transfer_);
  ticket_ = nullptr;
}

}  // namespace hocket::comm
