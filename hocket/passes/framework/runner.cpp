#include "hocket/passes/framework/runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/lags.h"
#include "hocket/iter/seams.h"
#include "hocket/iter/timing.h"

namespace hocket {
namespace {

bool contains(std::span<const std::string> list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (const std::string& n : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", n);
  return text.empty() ? "nothing" : text;
}

void require_order(const Program& program, const PassTable& table, const Pass& pass) {
  const auto& applied = program.applied;
  if (pass.once && contains(applied, pass.name))
    fail("pass '{}': cannot be applied twice", pass.name);
  for (const Pass& other : table.passes())
    if (contains(other.after, pass.name) && contains(applied, other.name))
      fail("pass '{}': '{}' must be applied after it, and was applied already", pass.name,
           other.name);
  std::vector<std::string> missing;
  for (const std::string& name : pass.needs)
    if (!contains(applied, name)) missing.push_back(name);
  if (!missing.empty())
    fail("pass '{}': {} are the prerequisites of it; applied so far: {}", pass.name,
         listed(missing), listed(applied));
}

/// Undoes the pass on destruction unless keep() was called. Graph passes are undone by the
/// transactions of the graphs; a program pass may add and drop graphs, so that a copy is kept for
/// it.
class Transaction {
 public:
  Transaction(Program& program, bool whole) : program_(program) {
    if (whole)
      copy_ = program;
    else
      for (Graph& g : program_.graphs) g.begin();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (kept_) return;
    if (copy_) program_ = std::move(*copy_);
    for (Graph& g : program_.graphs) {
      if (g.in_transaction()) g.rollback();
      g.take_remarks();
    }
  }
  void keep() {
    kept_ = true;
    if (!copy_)
      for (Graph& g : program_.graphs) g.commit();
  }

 private:
  Program& program_;
  std::optional<Program> copy_;
  bool kept_ = false;
};

void require_whole(const Program& program, bool all) {
  if (auto v = find_class_violation(program))
    internal_fail("left a broken program: {}", v->message);
  for (const Graph& g : program.graphs) {
    auto violation =
        all || !g.in_transaction() ? find_violation(g) : find_violation(g, g.touched());
    if (violation) internal_fail("left a broken graph: {}", describe(g, *violation));
  }
  if (auto v = all ? find_loop_violation(program) : find_lag_violation(program))
    internal_fail("left a broken loop: {}", v->message);
}

/// The lags of outputs and state of the rotated bodies of a program.
class Timings {
 public:
  explicit Timings(const Program& program) {
    for (const Graph& g : program.graphs)
      if (is_rotated(g)) by_graph_.emplace(g.name(), timing_of(g));
  }
  void require_kept(const Program& program) const {
    for (const Graph& g : program.graphs)
      if (auto before = by_graph_.find(g.name()); before != by_graph_.end())
        if (auto shift = find_shift(g, before->second, timing_of(g)))
          internal_fail("left a broken loop: graph {}: {} [loop]", g.name(), *shift);
  }

 private:
  std::map<std::string, Timing> by_graph_;
};

std::uint64_t edits(const Program& program) {
  std::uint64_t total = program.graphs.size();
  for (const Graph& g : program.graphs) total += g.edits();
  return total;
}

PassReport run_checked(Program& program, const Pass& pass, const PassCall& call, bool verify_all) {
  PassReport report{.pass = pass.name};
  Transaction transaction(program, !pass.on_graph);
  std::uint64_t before = edits(program);
  std::optional<Timings> timings;
  if (!pass.retimes) timings.emplace(program);
  auto start = std::chrono::steady_clock::now();
  if (pass.on_graph)
    for (Graph& g : program.graphs) pass.on_graph(g, call.options);
  else
    pass.on_program(program, call.options);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.changed = edits(program) != before;
  if (report.changed || pass.on_program || verify_all) {
    require_whole(program, verify_all);
    if (timings) timings->require_kept(program);
  }
  transaction.keep();
  for (Graph& g : program.graphs)
    for (Remark& r : g.take_remarks()) {
      r.pass = pass.name;
      report.remarks.push_back(std::move(r));
    }
  return report;
}

}  // namespace

PassReport run_pass(Program& program, const PassTable& table, const PassCall& call,
                    const RunPasses& options) {
  const Pass& pass = table.find(call.name);
  require_order(program, table, pass);
  try {
    PassReport report = run_checked(program, pass, call, options.verify_all);
    program.applied.push_back(pass.name);
    return report;
  } catch (const Error& e) {
    fail("pass '{}': {}", pass.name, e.what());
  } catch (const InternalError& e) {
    internal_fail("pass '{}': {}", pass.name, e.what());
  }
}

std::vector<PassReport> run_passes(Program& program, const PassTable& table,
                                   std::span<const PassCall> calls, const RunPasses& options) {
  for (const PassCall& call : calls) table.find(call.name);
  for (const std::string& name : options.skip) table.find(name);
  std::vector<PassReport> reports;
  std::size_t number = 0;
  auto show = [&](const std::string& pass) {
    if (options.after_each) options.after_each(number, pass, to_text(program));
    ++number;
  };
  show("before");
  for (const PassCall& call : calls) {
    if (contains(options.skip, call.name)) continue;
    reports.push_back(run_pass(program, table, call, options));
    bool changes_bits = table.find(call.name).bits_with(call.options) == Bits::changes;
    if (changes_bits && reports.back().changed && options.behind_changed_bits != nullptr)
      *options.behind_changed_bits = program;
    show(call.name);
  }
  return reports;
}

std::function<void(std::size_t, const std::string&, const std::string&)> dump_into(
    const std::string& folder) {
  return [folder](std::size_t number, const std::string& pass, const std::string& text) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail("{}: cannot be made: {}", folder, error.message());
    write_file(fmt::format("{}/{:02}-{}.hkt", folder, number, pass), text);
  };
}

}  // namespace hocket
