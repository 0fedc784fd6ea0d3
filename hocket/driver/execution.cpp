#include "hocket/driver/execution.h"

#include <numeric>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/codegen/library/library.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/comm/in_process.h"

namespace hocket {
namespace {

constexpr double most_deadline = 86'400;  // seconds: a day

/// Makes backends, one for each rank; empty for the reference kernels.
std::function<std::unique_ptr<Backend>()> backend_maker(const RunOptions& options) {
  int threads = options.threads;
  if (threads < 1 || threads > 1024) fail("--threads {}: wanted 1 to 1024", threads);
  if (options.backend == "reference") return nullptr;
  if (options.backend == "library") return [threads] { return std::make_unique<Library>(threads); };
  std::vector<std::string_view> known{"reference", "library"};
  fail("unknown backend '{}'{}", options.backend, nearest_hint(options.backend, known));
}

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
  if (options.link || options.trace)
    fail("--comm in_order: there is no time in it, so no --link and no --trace");
  return nullptr;
}

/// All ranks in one thread, in turn.
class InOrder final : public Executor {
 public:
  InOrder(int ranks, std::unique_ptr<Backend> backend)
      : ranks_(static_cast<std::size_t>(ranks)), backend_(std::move(backend)) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
    options_.backend = backend_.get();
  }

  std::span<const int> ranks() const override { return ranks_; }

  std::vector<RankResult> step(const StepProgram& what,
                               std::span<const std::vector<Tensor>> inputs) override {
    if (what.program.world->ranks() > 1) return interpret(what.program, inputs, options_);
    std::vector<RankResult> all;  // copies
    for (const std::vector<Tensor>& mine : inputs)
      all.push_back(std::move(interpret(what.program, std::span(&mine, 1), options_)[0]));
    return all;
  }

 private:
  std::vector<int> ranks_;
  std::unique_ptr<Backend> backend_;
  InterpretOptions options_;
};

}  // namespace

Execution::Execution(const Program& program, int ranks, const RunOptions& options) {
  auto make_backend = backend_maker(options);
  transport_ = make_transport(ranks, options);
  if (transport_ == nullptr) {
    std::unique_ptr<Backend> backend = make_backend ? make_backend() : nullptr;
    numerics_ = numerics_of(backend.get());
    executor_ = std::make_unique<InOrder>(ranks, std::move(backend));
    return;
  }
  auto running =
      std::make_unique<Ranks>(program, *transport_, RanksOptions{make_backend, options.trace});
  numerics_ = running->numerics();
  ranks_ = running.get();
  executor_ = std::move(running);
}

void Execution::close() {
  ranks_ = nullptr;
  executor_ = nullptr;
  if (transport_) transport_->close();
}

}  // namespace hocket
