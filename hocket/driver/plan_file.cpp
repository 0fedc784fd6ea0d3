#include "hocket/driver/plan_file.h"

#include <filesystem>

#include "hocket/base/clock.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/codegen/library/library.h"
#include "hocket/driver/constants.h"
#include "hocket/frontend/formats/safetensors.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/plan_text.h"
#include "hocket/plan/verify_plan.h"

namespace hocket {
namespace {

constexpr std::string_view ending = ".plan";

std::string constants_of(const std::string& path) {
  return path.substr(0, path.size() - ending.size()) + ".constants.safetensors";
}

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& name, int threads) {
  if (threads < 1 || threads > 1024) fail("--threads {}: wanted 1 to 1024", threads);
  if (name == "reference") return nullptr;
  if (name == "library") return std::make_unique<Library>(threads);
  std::vector<std::string_view> known{"reference", "library"};
  fail("unknown backend '{}'{}", name, nearest_hint(name, known));
}

std::string processor() {
  std::string model = "unknown processor";
  std::string_view key = "model name";
  std::string info = read_file("/proc/cpuinfo");
  if (std::size_t at = info.find(key); at != std::string::npos) {
    std::size_t from = info.find(':', at) + 2, to = info.find('\n', at);
    model = info.substr(from, to - from);
  }
  for (auto [supported, name] : {std::pair(__builtin_cpu_supports("avx512f"), ", avx512"),
                                 std::pair(__builtin_cpu_supports("avx2"), ", avx2")})
    if (supported != 0) return model + name;
  return model;
}

Plan make_plan(const Step& step, const PlanOptions& options, PlanReport* report) {
  PlanReport unused;
  PlanReport& r = report != nullptr ? *report : unused;
  std::unique_ptr<Backend> backend = make_backend(options.backend, options.threads);
  double start = steady_seconds();
  Program program = step.program;
  Program changed;
  CompileOptions how = options.compile;
  how.run.behind_changed_bits = &changed;
  r.compiled = compile(program, how);
  Plan plan = lower(program, {backend.get(), options.memory_limit, &r.remarks});
  r.compile_seconds = steady_seconds() - start;
  plan.source = step.program;
  plan.changed = std::move(changed);
  plan.origin = {HOCKET_VERSION,
                 step.source,
                 options.compile.passes,
                 processor(),
                 backend != nullptr ? backend->numerics() : "reference: plain kernels",
                 options.threads};
  return plan;
}

bool is_plan_file(const std::string& source) { return source.ends_with(ending); }

void save_plan(const Plan& plan, const std::string& path) {
  if (!is_plan_file(path)) fail("{}: wanted a name that ends with {}", path, ending);
  NewFiles files;
  ConstantTable constants = used_constants(plan.program);
  constants.merge(used_constants(plan.source));
  constants.merge(used_constants(plan.changed));
  if (!constants.empty()) files.write(constants_of(path), safetensors_bytes(constants));
  files.write(path, to_text(plan));
  files.publish();
}

Plan load_plan(const std::string& path) {
  std::string text = read_file(path);
  try {
    Plan plan = parse_plan(text, ops::all());
    if (std::string file = constants_of(path); std::filesystem::exists(file)) {
      Safetensors values = Safetensors::open(file);
      ConstantTable table;
      for (const auto& [name, type] : values.types()) table.emplace(name, values.load(name));
      take_constants(plan.program, table);
      take_constants(plan.source, table);
      take_constants(plan.changed, table);
    }
    verify_plan(plan);
    return plan;
  } catch (const Error& e) {
    fail("{}: {}", path, e.what());
  }
}

void require_current(const Plan& plan, const std::string& numerics, const std::string& path) {
  auto require = [&](std::string_view what, const std::string& made, const std::string& here) {
    if (made != here)
      fail("{}: was made for {} '{}', here is '{}'; compile it again", path, what, made, here);
  };
  require("hocket", plan.origin.version, HOCKET_VERSION);
  require("the processor", plan.origin.cpu, processor());
  require("the backend", plan.origin.numerics, numerics);
}

Step step_of(const Plan& plan, const std::string& path) {
  Step step;
  std::error_code ignored;
  if (std::filesystem::exists(plan.origin.source, ignored)) step = load_step(plan.origin.source);
  step.source = path;
  if (step.nodes > 0 && !(step.program == plan.source))
    fail("{}: {} is no longer what the plan was made from; compile it again", path,
         plan.origin.source);
  step.program = plan.source;
  return step;
}

}  // namespace hocket
