#include "hocket/driver/run.h"

#include <algorithm>
#include <map>
#include <set>

#include "hocket/base/clock.h"
#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/driver/digest.h"
#include "hocket/driver/execution.h"
#include "hocket/driver/feed.h"
#include "hocket/driver/input_map.h"
#include "hocket/driver/plan_file.h"
#include "hocket/driver/shards.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/phases.h"
#include "hocket/lower/live_bound.h"
#include "hocket/lower/lower.h"
#include "hocket/ops/work.h"
#include "hocket/runtime/loop.h"

namespace hocket {
namespace {

/// The number of ranks: for a program for one rank, the number of copies asked for.
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

/// Digest of the state by source name, rank after rank.
std::string digest_state(const Program& source, const InputTables& state, Digest& digest) {
  for (std::size_t r = 0; r < state.size(); ++r) {
    const Graph& g = source.graph_of(static_cast<int>(r));
    std::map<std::string, const Tensor*> by_name;
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      if (!in.state || is_forwarded(g, in.value))
        continue;  // forwarded state is empty after a drain
      for (const std::string& name : in.names) by_name[name] = &state[r][i];
      if (in.names.empty()) by_name["%" + g.name(in.value)] = &state[r][i];
    }
    for (const auto& [name, tensor] : by_name) digest.add(name).add(*tensor);
  }
  return digest.text();
}

void count(const Program& program, RunReport& report) {
  for (const Graph& g : program.graphs)
    for (NodeId n : g.nodes()) {
      ++report.nodes;
      if (!g[n].op->is_collective) continue;
      ++report.collectives;
      Bucket b{std::string(g[n].op->name), g[n].attr<std::string>("group"), 0, 0};
      for (Value v : g[n].inputs) {
        ++b.members;
        b.bytes = sum_of_bytes(b.bytes, g.type(v).bytes());
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

/// Names are those of the source; lags are those of the compiled body.
std::vector<OutputLabel> output_labels(const Graph& source, const Graph& compiled, bool rotated) {
  std::vector<Output> outputs = source.outputs();
  std::set<std::string> written;
  for (const Output& o : outputs) written.insert(o.name);
  std::vector<OutputLabel> labels;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string name = outputs[i].name;
    // Made-up names avoid those of the program: out0, out0_1, out0_2.
    for (int k = 0; name.empty(); ++k) {
      std::string made = k == 0 ? fmt::format("out{}", i) : fmt::format("out{}_{}", i, k);
      if (!written.contains(made)) name = made;
    }
    labels.push_back({name});
  }
  if (!rotated) return labels;
  std::vector<int> lags = output_lags(compiled);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i].lag = lags[i];
  return labels;
}

/// Error for options that do not fit the step.
void require_fit(const Step& step, const RunOptions& options, std::int64_t iterations) {
  if (iterations < 1) fail("--iters {}: wanted at least 1", iterations);
  for (std::int64_t n : options.drain_after)
    if (n < 1 || n > iterations)
      fail("--drain-after {}: wanted 1 to {}, the number of iterations", n, iterations);
  if (!options.random_inputs) require_values(step);
  const frontend::Recording& r = step.recording;
  if (options.check && (options.random_inputs || (r.expected.empty() && r.final_state.empty())))
    fail("{}: --check, but the source says nothing about what must come out", step.source);
  auto recorded = static_cast<std::int64_t>(recorded_iterations(r));
  if (options.check && r.expected.empty() && iterations != recorded)
    fail("{}: --check of {}, but the source only says what {} leave", step.source,
         count_of(iterations, "iteration"), recorded);
}

Plan make_plan(const Step& step, const RunOptions& options, RunReport& report) {
  PlanReport plan;
  Plan made = hocket::make_plan(
      step, {options.compile, options.backend, options.threads, options.memory_limit}, &plan);
  report.compiled = std::move(plan.compiled);
  for (Remark& r : plan.remarks) report.compiled.remarks.push_back(std::move(r));
  report.compile_seconds = plan.compile_seconds;
  return made;
}

MemoryReport memory_of(const Plan& plan, const RunOptions& options) {
  MemoryReport memory;
  std::unique_ptr<Backend> backend = make_backend(options.backend, options.threads);
  for (std::size_t g = 0; g < plan.graphs.size(); ++g) {
    if (plan.graphs[g].arena_bytes < memory.planned_peak_bytes) continue;
    memory.planned_peak_bytes = plan.graphs[g].arena_bytes;
    memory.live_bytes_bound = live_bytes_bound(plan.program, g, backend.get());
  }
  memory.bucket_copies = bucket_copies(plan);
  return memory;
}

/// Error where the ranks of the step itself wait for each other, or call different collectives.
void require_safe(const Step& step, LaunchOrder order) {
  auto unsafe = find_unsafe(lower(step.program), order);
  if (unsafe) fail("{}: {} [{}]", step.source, unsafe->message, unsafe->rule);
}

/// False when the checks refute a plan that was given.
bool certify_plan(const Plan& plan, const Step& step, LaunchOrder order, bool made_here,
                  RunReport& report) {
  report.certificate = certify(plan, order);
  const Certificate& c = *report.certificate;
  if (c.refuted() && made_here) {
    require_safe(step, order);
    internal_fail("the plan is refuted: {}", refutation_text(c));
  }
  if (!c.refuted() && !c.certified())
    report.compiled.remarks.push_back({.where = "plan",
                                       .what = "may compute something else than its source",
                                       .why = c.meaning.message,
                                       .pass = "check"});
  return !c.refuted();
}

}  // namespace

RunReport run(Step step, const RunOptions& options, std::shared_ptr<const Plan> plan) {
  RunReport report;
  report.ranks = ranks_to_run(step.program, options);
  report.iterations =
      options.iterations.value_or(static_cast<std::int64_t>(recorded_iterations(step.recording)));
  require_fit(step, options, report.iterations);
  if (step.program.world->ranks() == 1) repeat_for_copies(step.recording, report.ranks);

  Execution execution(report.ranks, options);
  bool made_here = plan == nullptr;
  Program program = step.program;
  if (plan == nullptr && options.comm != "in_order")
    plan = std::make_shared<const Plan>(make_plan(step, options, report));
  if (plan != nullptr)
    program = plan->program;
  else
    report.compiled = compile(program, options.compile);
  if (plan != nullptr && options.certify &&
      !certify_plan(*plan, step, execution.launch_order(), made_here, report))
    return report;
  count(program, report);
  if (plan != nullptr) report.memory = memory_of(*plan, options);

  report.numerics = numerics_of(make_backend(options.backend, options.threads).get());
  execution.prepare(program, std::move(plan));
  Feed feed(step, report.ranks, options.random_inputs);
  InputMap compiled_inputs(step.program, program);
  Loop loop(execution.executor(), shard_state(step.program, program, feed.state()));
  auto state_now = [&] { return unshard_state(step.program, program, loop.state()); };
  OutputLog outputs(step.program, report.ranks, std::ssize(step.recording.expected));
  Seconds seconds;
  auto iterate = [&](std::int64_t k) {
    if (options.progress) options.progress(k, report.iterations);
    report.phases.emplace_back(loop.phase_name());
    outputs.begin();
    InputTables batch = compiled_inputs.apply(feed.batch(k));
    double begin = steady_seconds();
    std::span<const Produced> produced = loop.step(batch);
    // The first iteration warms up and is not counted.
    if (k > 0 || report.iterations == 1) seconds.add(steady_seconds() - begin, execution.ranks());
    outputs.add(produced);
    if (k + 1 == report.iterations) outputs.add(loop.finish());
    if (std::ranges::find(options.drain_after, k + 1) == options.drain_after.end()) return;
    if (k + 1 < report.iterations) outputs.add(loop.drain());
    Digest digest;
    report.drains.push_back({k + 1, digest_state(step.program, state_now(), digest)});
  };
  try {
    for (std::int64_t k = 0; k < report.iterations; ++k) iterate(k);
  } catch (const RunError& e) {
    const Ranks* ranks = execution.ranks();
    if (ranks == nullptr) throw;
    std::optional<Trace> trace;
    if (options.trace) trace = ranks->trace();
    throw RunFailed(e.what(), ranks->hang_report(), std::move(trace));
  }
  report.step_seconds = median(seconds.step);
  if (execution.ranks())
    report.times = {median(seconds.compute), median(seconds.communication),
                    median(seconds.exposed)};
  if (options.trace) report.trace = execution.ranks()->trace();
  report.peak_bytes = loop.peak_bytes();
  bool rotated = loop_shape(program) != LoopShape{};
  for (int r = 0; r < report.ranks; ++r)
    report.labels.push_back(output_labels(step.program.graph_of(r), program.graph_of(r), rotated));

  Digest state;
  report.outcome = {outputs.take(), state_now()};
  execution.close();
  report.digest = digest_state(step.program, report.outcome.state, outputs.digest());
  report.state_digest = digest_state(step.program, report.outcome.state, state);
  if (options.check) report.check = compare(step.program, step.recording, report.outcome);
  return report;
}

}  // namespace hocket
