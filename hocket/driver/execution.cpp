#include "hocket/driver/execution.h"

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/comm/in_process.h"
#include "hocket/driver/plan_file.h"
#include "hocket/runtime/in_order.h"

namespace hocket {
namespace {

constexpr double most_deadline = 86'400;  // seconds: a day

/// Makes the transport that the options ask for; null where the interpreter runs all ranks.
std::unique_ptr<comm::Transport> make_transport(int ranks, const RunOptions& options) {
  if (!(options.deadline > 0 && options.deadline <= most_deadline))
    fail("--deadline {}: wanted more than 0 and at most {} s", options.deadline, most_deadline);
  if (options.comm == "in_process")
    return std::make_unique<comm::InProcess>(
        ranks, comm::InProcessOptions{options.deadline, options.link, true});
  std::vector<std::string_view> known{"in_process", "in_order"};
  if (options.comm != "in_order")
    fail("unknown transport '{}'{}", options.comm, nearest_hint(options.comm, known));
  if (options.link || options.trace || options.hang_report)
    fail("--comm in_order: there is no time in it, so no --link, no --trace and no --hang-report");
  return nullptr;
}

}  // namespace

Execution::Execution(int ranks, const RunOptions& options)
    : count_(ranks), options_(options), transport_(make_transport(ranks, options)) {}

LaunchOrder Execution::launch_order() const {
  return transport_ ? transport_->launch_order() : LaunchOrder::per_group;
}

void Execution::prepare(const Program& program, std::shared_ptr<const Plan> plan) {
  auto backend = [name = options_.backend, threads = options_.threads] {
    return make_backend(name, threads);
  };
  if (transport_ == nullptr) {
    executor_ = std::make_unique<InOrder>(program, count_, backend());
    return;
  }
  auto running =
      std::make_unique<Ranks>(std::move(plan), *transport_, RanksOptions{backend, options_.trace});
  ranks_ = running.get();
  executor_ = std::move(running);
}

void Execution::close() {
  ranks_ = nullptr;
  executor_ = nullptr;
  if (transport_) transport_->close();
}

}  // namespace hocket
