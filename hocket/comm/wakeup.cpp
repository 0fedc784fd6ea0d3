#include "hocket/comm/wakeup.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace hocket::comm {

Fence::Fence()
    : symmetric_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {}

void Fence::before_wait() const {
  if (symmetric_ || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Wakeup::wake() {
  notified_.fetch_add(1);
  syscall(SYS_futex, &notified_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Wakeup::sleep(std::uint32_t seen, double seconds) {
  // The default timer slack of 50 us would end emulated transfers late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  double whole = std::floor(std::min(seconds, 1e6));
  timespec time{static_cast<time_t>(whole),
                seconds > 1e6 ? 0 : static_cast<long>((seconds - whole) * 1e9)};
  syscall(SYS_futex, &notified_, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

}  // namespace hocket::comm
