#include "hocket/driver/run.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/codegen/library/library.h"
#include "hocket/codegen/reference/interpret.h"
#include "hocket/driver/digest.h"
#include "hocket/driver/random_inputs.h"
#include "hocket/runtime/ranks.h"

namespace hocket {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Makes backends, one for each rank; nothing for the plain kernels.
std::function<std::unique_ptr<Backend>()> backend_maker(const RunOptions& options) {
  int threads = options.threads;
  if (threads < 1 || threads > 1024) fail("--threads {}: wanted 1 to 1024", threads);
  if (options.backend == "reference") return nullptr;
  if (options.backend == "library") return [threads] { return std::make_unique<Library>(threads); };
  std::vector<std::string_view> known{"reference", "library"};
  fail("unknown backend '{}'{}", options.backend, nearest_hint(options.backend, known));
}

bool in_order(const RunOptions& options) {
  if (options.comm == "in_process") return false;
  std::vector<std::string_view> known{"in_process", "in_order"};
  if (options.comm != "in_order")
    fail("unknown transport '{}'{}", options.comm, nearest_hint(options.comm, known));
  if (options.link || options.trace)
    fail("--comm in_order: there is no time in it, so no --link and no --trace");
  return true;
}

/// Copies of a program for one rank may be run side by side; any other has its own number.
int ranks_to_run(const Program& program, const RunOptions& options) {
  int world = program.world->ranks();
  std::int64_t wanted = options.ranks.value_or(world);
  if (wanted < 1 || wanted > max_ranks) fail("--ranks {}: wanted 1 to {}", wanted, max_ranks);
  if (world > 1 && wanted != world)
    fail("--ranks {}: the source is for {}", wanted, count_of(world, "rank"));
  return static_cast<int>(wanted);
}

void repeat_for_copies(frontend::Recording& recording, int ranks) {
  auto grow = [&](auto& table) {
    while (!table.empty() && static_cast<int>(table.size()) < ranks) table.push_back(table[0]);
  };
  grow(recording.state);
  grow(recording.final_state);
  for (auto& batch : recording.batches) grow(batch);
  for (auto& outputs : recording.expected) grow(outputs);
}

void require_values(const Step& step) {
  const frontend::Recording& r = step.recording;
  for (const Graph& g : step.program.graphs)
    for (const Input& in : g.inputs())
      if (in.state ? r.state.empty() : r.batches.empty())
        fail("{}: has no values for {}; --random-inputs SEED makes some", step.source,
             in.state ? "its state" : "its inputs");
}

/// All ranks, in whatever way they run.
class Crew {
 public:
  Crew(const Program& program, int ranks, const RunOptions& options)
      : program_(program), copies_(program.world->ranks() == 1 && ranks > 1) {
    auto make = backend_maker(options);
    if (!(options.deadline > 0)) fail("--deadline {}: wanted more than 0 s", options.deadline);
    if (!in_order(options)) {
      ranks_.emplace(program,
                     RanksOptions{ranks, options.deadline, options.link, make, options.trace});
      return;
    }
    if (make) backend_ = make();
    interpret_.backend = backend_.get();
  }

  std::vector<RankResult> step(std::span<const std::vector<Tensor>> inputs) {
    if (ranks_) return ranks_->step(inputs);
    if (!copies_) return interpret(program_, inputs, interpret_);
    std::vector<RankResult> all;
    for (const std::vector<Tensor>& mine : inputs)
      all.push_back(std::move(interpret(program_, std::span(&mine, 1), interpret_)[0]));
    return all;
  }

  const Ranks* ranks() const { return ranks_ ? &*ranks_ : nullptr; }
  std::string numerics() const {
    if (ranks_) return ranks_->numerics();
    return backend_ ? backend_->numerics() : "reference: plain kernels";
  }

 private:
  const Program& program_;
  bool copies_;
  std::optional<Ranks> ranks_;
  std::unique_ptr<Backend> backend_;
  InterpretOptions interpret_;
};

class Loop {
 public:
  Loop(const Step& step, const Program& program, int ranks, Crew& crew)
      : recording_(step.recording), program_(program), crew_(crew) {
    copies_ = program.world->ranks() == 1 && ranks > 1;
    for (int r = 0; r < ranks; ++r) {
      state_.emplace_back(graph(r).inputs().size());
      if (!recording_.state.empty()) state_.back() = recording_.state[static_cast<std::size_t>(r)];
    }
  }

  std::vector<std::vector<Tensor>> step(std::int64_t k) {
    // What the last step left, and this one's batch.
    std::vector<std::vector<Tensor>> inputs = std::move(state_);
    for (std::size_t r = 0; r < inputs.size(); ++r) {
      auto specs = graph(static_cast<int>(r)).inputs();
      for (std::size_t i = 0; i < specs.size(); ++i)
        if (!specs[i].state)
          inputs[r][i] =
              recording_.batches[static_cast<std::size_t>(k) % recording_.batches.size()][r][i];
    }
    std::vector<RankResult> results = crew_.step(inputs);
    std::vector<std::vector<Tensor>> outputs;
    state_.clear();
    for (RankResult& mine : results) {
      state_.push_back(std::move(mine.state));
      outputs.push_back(std::move(mine.outputs));
      peak_ = std::max(peak_, mine.peak_bytes);
    }
    return outputs;
  }

  std::vector<std::vector<Tensor>> state() { return state_; }
  std::int64_t peak() const { return peak_; }

 private:
  const Graph& graph(int r) const { return program_.graph_of(copies_ ? 0 : r); }

  const frontend::Recording& recording_;
  const Program& program_;
  Crew& crew_;
  bool copies_;
  std::vector<std::vector<Tensor>> state_;
  std::int64_t peak_ = 0;
};

/// State by source name, each rank's behind the other's.
std::string digest_state(const Program& program, const Outcome& outcome, Digest& digest) {
  bool copies = program.world->ranks() == 1;
  for (std::size_t r = 0; r < outcome.state.size(); ++r) {
    const Graph& g = program.graph_of(copies ? 0 : static_cast<int>(r));
    std::map<std::string, const Tensor*> by_name;
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      if (!in.state) continue;
      for (const std::string& name : in.names) by_name[name] = &outcome.state[r][i];
      if (in.names.empty()) by_name["%" + g.name(in.value)] = &outcome.state[r][i];
    }
    for (const auto& [name, tensor] : by_name) digest.add(name).add(*tensor);
  }
  return digest.text();
}

void count(const Program& program, RunReport& report) {
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes()) {
      ++report.nodes;
      if (!g[n].op->starts) continue;
      ++report.collectives;
      Bucket b{std::string(g[n].op->name), g[n].attr<std::string>("group"), 0, 0};
      for (Value v : g[n].inputs) {
        ++b.members;
        b.bytes += g.type(v).bytes();
      }
      report.buckets.push_back(std::move(b));
    }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Seconds by iteration, of the slowest rank for each kind of time.
struct Seconds {
  std::vector<double> step, compute, communication, exposed;

  void add(double whole, const Ranks* ranks) {
    step.push_back(whole);
    if (ranks == nullptr) return;
    StepTimes most;
    for (const StepTimes& t : ranks->times())
      most = {std::max(most.compute, t.compute), std::max(most.communication, t.communication),
              std::max(most.exposed, t.exposed)};
    compute.push_back(most.compute);
    communication.push_back(most.communication);
    exposed.push_back(most.exposed);
  }
};

}  // namespace

RunReport run(Step step, const RunOptions& options) {
  RunReport report;
  report.ranks = ranks_to_run(step.program, options);
  std::int64_t recorded = std::ssize(step.recording.batches);
  report.iterations = options.iterations.value_or(std::max<std::int64_t>(1, recorded));
  if (report.iterations < 1) fail("--iters {}: wanted at least 1", report.iterations);
  if (options.random_inputs)
    step.recording =
        random_recording(step.program, *options.random_inputs, report.ranks, report.iterations);
  require_values(step);
  repeat_for_copies(step.recording, report.ranks);
  if (options.check && step.recording.expected.empty() && step.recording.final_state.empty())
    fail("{}: --check, but the source says nothing about what must come out", step.source);

  Program program = step.program;
  double start = now();
  report.compiled = compile(program, options.compile);
  report.compile_seconds = now() - start;
  count(program, report);

  Crew crew(program, report.ranks, options);
  Loop loop(step, program, report.ranks, crew);
  report.numerics = crew.numerics();
  Seconds seconds;
  for (std::int64_t k = 0; k < report.iterations; ++k) {
    if (options.progress) options.progress(k, report.iterations);
    double begin = now();
    report.outcome.outputs.push_back(loop.step(k));
    // The first one warms up.
    if (k > 0 || report.iterations == 1) seconds.add(now() - begin, crew.ranks());
  }
  report.step_seconds = median(seconds.step);
  if (crew.ranks() != nullptr)
    report.times = {median(seconds.compute), median(seconds.communication),
                    median(seconds.exposed)};
  if (options.trace) report.trace = crew.ranks()->trace();
  report.outcome.state = loop.state();
  report.peak_bytes = loop.peak();

  Digest all, state;
  for (const auto& iteration : report.outcome.outputs)
    for (const auto& rank : iteration)
      for (const Tensor& t : rank) all.add(t);
  report.digest = digest_state(step.program, report.outcome, all);
  report.state_digest = digest_state(step.program, report.outcome, state);
  for (const Output& o : step.program.graphs[0].outputs()) report.output_names.push_back(o.name);
  if (options.check) report.check = compare(step.program, step.recording, report.outcome);
  return report;
}

}  // namespace hocket
