#include "hocket/comm/process_group.h"

#include <algorithm>

namespace hocket::comm {

bool Work::test() {
  if (ticket_ != nullptr && group_->finish(ticket_, 0, transfer_)) ticket_ = nullptr;
  return ticket_ == nullptr;
}

std::vector<int> Work::missing() const {
  return ticket_ == nullptr ? std::vector<int>{} : group_->missing(ticket_);
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
