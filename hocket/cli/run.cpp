#include "hocket/driver/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/json_writer.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/plan_file.h"
#include "hocket/report/hang_report.h"
#include "hocket/report/perfetto.h"
#include "hocket/runtime/executor.h"

namespace hocket::cli {
namespace {

bool is_one_number(const OutputReport& o) { return o.type.elements() == 1; }

void write_number(JsonWriter& json, const Tensor& t) {
  visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    json.field("value", load(t.as<T>()[0]));
  });
}

std::string number_text(const Tensor& t) {
  std::string text;
  visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    text = fmt::format("{:.6g}", static_cast<double>(load(t.as<T>()[0])));
  });
  return text;
}

void write_outputs(JsonWriter& json, const RunReport& report) {
  json.key("outputs").begin_array();
  for (const auto& iteration : report.outcome.outputs) {
    json.begin_array();
    for (std::size_t r = 0; r < iteration.size(); ++r) {
      const std::vector<OutputReport>& rank = iteration[r];
      json.begin_array();
      for (std::size_t i = 0; i < rank.size(); ++i) {
        const Type& type = rank[i].type;
        const OutputLabel& label = report.labels[r][i];
        json.begin_object().field("name", label.name);
        json.field("dtype", name(type.dtype)).key("shape").begin_array();
        for (std::int64_t d : type.shape) json.value(d);
        json.end_array();
        if (label.lag > 0) json.field("lag", label.lag);
        if (is_one_number(rank[i]))
          write_number(json, rank[i].value);
        else
          json.field("digest", rank[i].digest);
        json.end_object();
      }
      json.end_array();
    }
    json.end_array();
  }
  json.end_array();
}

void write_remarks(JsonWriter& json, const Step& step, const RunReport& report) {
  json.key("remarks").begin_array();
  auto write = [&](const Remark& r) {
    json.begin_object().field("pass", r.pass).field("where", r.where).field("what", r.what);
    json.field("why", r.why).end_object();
  };
  for (const Remark& r : step.remarks) write(r);
  for (const Remark& r : report.compiled.remarks) write(r);
  for (const PassReport& p : report.compiled.passes)
    for (const Remark& r : p.remarks) write(r);
  json.end_array();
}

void write_memory(JsonWriter& json, const MemoryReport& memory) {
  json.field("planned_peak_bytes", memory.planned_peak_bytes);
  json.field("live_bytes_bound", memory.live_bytes_bound);
  json.field("bucket_bytes_copied", total_bytes(memory.bucket_copies));
  json.key("bucket_copies").begin_array();
  for (const BucketCopy& c : memory.bucket_copies)
    json.begin_object()
        .field("tensor", c.tensor)
        .field("reason", c.reason)
        .field("bytes", c.bytes)
        .end_object();
  json.end_array();
}

void write_certificate(JsonWriter& json, const Certificate& c) {
  json.key("certificate").begin_object().field("safe", !c.unsafe.has_value());
  json.field("launch_order", name(c.order)).field("meaning", name(c.meaning.verdict));
  if (!c.meaning.message.empty()) json.field("message", c.meaning.message);
  json.key("assumptions").begin_array();
  for (const std::string& a : c.meaning.assumptions) json.value(a);
  json.end_array().field("seconds", c.seconds).end_object();
}

std::string source_text(const RunVerb& verb) {
  return fmt::format("{}", fmt::join(verb.sources, " "));
}

std::string to_json(const RunVerb& verb, const Step& step, const RunReport& report) {
  JsonWriter json;
  json.begin_object().field("source", source_text(verb)).field("ranks", report.ranks);
  json.field("iterations", report.iterations).field("passes", verb.passes);
  json.field("backend", report.numerics);
  json.field("digest", report.digest).field("state_digest", report.state_digest);
  json.field("nodes_imported", step.nodes).field("nodes", report.nodes);
  json.field("collectives_imported", step.collectives).field("collectives", report.collectives);
  json.key("buckets").begin_array();
  for (const Bucket& b : report.buckets)
    json.begin_object()
        .field("kind", b.kind)
        .field("group", b.group)
        .field("members", b.members)
        .field("bytes", b.bytes)
        .end_object();
  json.end_array();
  json.key("phases").begin_array();
  for (const std::string& phase : report.phases) json.value(phase);
  json.end_array();
  if (!report.drains.empty()) {
    json.key("drains").begin_array();
    for (const DrainReport& d : report.drains)
      json.begin_object()
          .field("after", d.after)
          .field("state_digest", d.state_digest)
          .end_object();
    json.end_array();
  }
  if (report.check) {
    const Comparison& c = *report.check;
    json.key("check")
        .begin_object()
        .field("ok", c.ok)
        .field("worst", c.worst)
        .field("name", c.name);
    json.field("error", c.error).field("tolerance", c.tolerance).end_object();
  }
  json.field("import_seconds", step.import_seconds);
  json.field("compile_seconds", report.compile_seconds);
  json.key("pass_seconds").begin_object();
  for (const PassReport& p : report.compiled.passes) {
    // A pass that ran several times has one entry, with the sum.
    auto first = std::ranges::find(report.compiled.passes, p.pass, &PassReport::pass);
    if (&*first != &p) continue;
    double seconds = 0;
    for (const PassReport& q : report.compiled.passes) seconds += q.pass == p.pass ? q.seconds : 0;
    json.field(p.pass, seconds);
  }
  json.end_object();
  json.field("step_seconds", report.step_seconds);
  if (report.times)
    json.field("compute_seconds", report.times->compute)
        .field("communication_seconds", report.times->communication)
        .field("exposed_seconds", report.times->exposed);
  json.field("peak_bytes", report.peak_bytes);
  if (report.memory) write_memory(json, *report.memory);
  if (report.certificate) write_certificate(json, *report.certificate);
  write_outputs(json, report);
  write_remarks(json, step, report);
  return json.end_object().take() + "\n";
}

/// A column of the table: an output that is a scalar on some rank, with its index on each rank
/// (none where it is missing or no scalar).
struct Column {
  std::string name;
  int lag = 0;
  std::vector<std::optional<std::size_t>> places;
};
std::vector<Column> columns(const RunReport& report, std::size_t most) {
  std::vector<Column> list;
  const auto& ranks = report.outcome.outputs[0];
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t i = 0; i < ranks[r].size(); ++i) {
      if (!is_one_number(ranks[r][i])) continue;
      const OutputLabel& label = report.labels[r][i];
      auto column = std::ranges::find(list, label.name, &Column::name);
      if (column == list.end()) {
        if (list.size() == most) continue;
        list.push_back({label.name, 0, std::vector<std::optional<std::size_t>>(ranks.size())});
        column = list.end() - 1;
      }
      column->lag = std::max(column->lag, label.lag);
      column->places[r] = i;
    }
  return list;
}

/// One line per iteration with the scalar outputs of each rank.
std::string to_table(const Step& step, const RunReport& report) {
  constexpr std::size_t most_columns = 4, most_ranks = 8;
  std::string text =
      fmt::format("{}: {}, {}, {}\n", step.source, count_of(report.ranks, "rank"),
                  count_of(report.nodes, "node"), count_of(report.collectives, "collective"));
  std::vector<Column> shown = columns(report, most_columns);
  for (std::size_t k = 0; k < report.outcome.outputs.size(); ++k) {
    const auto& ranks = report.outcome.outputs[k];
    text += fmt::format("iteration {}:", k);
    for (const Column& column : shown) {
      text += fmt::format(" {} =", column.name);
      if (column.lag > 0) text += fmt::format(" ({} later)", count_of(column.lag, "iteration"));
      for (std::size_t r = 0; r < ranks.size() && r < most_ranks; ++r)
        text += " " + (column.places[r] ? number_text(ranks[r][*column.places[r]].value) : "-");
      if (ranks.size() > most_ranks) text += " ...";
    }
    if (shown.empty()) text += fmt::format(" {}", count_of(std::ssize(ranks[0]), "output"));
    text += "\n";
  }
  if (report.times)
    text += fmt::format("compute {:.2f} ms, communication {:.2f} ms, exposed {:.2f} ms\n",
                        report.times->compute * 1e3, report.times->communication * 1e3,
                        report.times->exposed * 1e3);
  text += fmt::format("step {:.2f} ms, import {:.1f} ms, {}\n", report.step_seconds * 1e3,
                      step.import_seconds * 1e3, report.numerics);
  for (const DrainReport& d : report.drains)
    text += fmt::format("state after {}: {}\n", count_of(d.after, "iteration"), d.state_digest);
  text += fmt::format("digest {}\n", report.digest);
  return text;
}

std::string failure_json(const RunVerb& verb, std::string_view what) {
  JsonWriter json;
  json.begin_object().field("source", source_text(verb)).field("error", what);
  return json.end_object().take() + "\n";
}

std::string to_text(const Comparison& c) {
  if (c.tensors == 0) return "check: nothing to compare\n";
  return fmt::format("check: {}; {} compared, worst {}: off by {:.3g}, {:.3g} allowed\n",
                     c.ok ? "ok" : "WRONG", count_of(c.tensors, "tensor"), c.name, c.error,
                     c.tolerance);
}

/// A plan decides what is run, and how: options that would say otherwise are errors.
Plan load_plan_to_run(const RunVerb& verb, RunOptions& options) {
  const std::string& path = verb.sources[0];
  for (auto [given, name] :
       {std::pair(verb.passes_given, "--passes"), std::pair(verb.backend_given, "--backend"),
        std::pair(verb.memory_limit > 0, "--memory-limit")})
    if (given) fail("{}: {} is decided when a plan is compiled", path, name);
  if (verb.comm == "in_order") fail("{}: a plan runs with --comm in_process", path);
  Plan plan = load_plan(path);
  options.threads = plan.origin.threads;
  // Its instructions may all be run by the reference.
  options.backend = plan.origin.numerics.substr(0, plan.origin.numerics.find(':'));
  require_current(plan, numerics_of(make_backend(options.backend, options.threads).get()), path);
  return plan;
}

/// Writes what was asked for. The run has failed already, so a file that cannot be written is only
/// mentioned.
void write_failure(const RunVerb& verb, const RunFailed& failure) {
  auto write = [](const std::string& path, const std::string& text) {
    try {
      write_file(path, text);
    } catch (const Error& e) {
      fmt::print(stderr, "hocket: {}\n", e.what());
    }
  };
  if (failure.trace()) write(verb.trace, to_perfetto(*failure.trace()));
  if (!verb.hang_report.empty()) write(verb.hang_report, to_json(failure.report()));
}

}  // namespace

int run(const RunVerb& verb) {
  try {
    RunOptions options;
    options.compile.passes = verb.passes;
    options.backend = verb.backend;
    options.threads = verb.threads;
    options.ranks = verb.ranks;
    options.iterations = verb.iterations;
    options.random_inputs = verb.random_inputs;
    options.check = verb.check;
    options.certify = verb.certify;
    options.comm = verb.comm;
    options.deadline = verb.deadline;
    if (!verb.link.empty()) options.link = comm::parse_link(verb.link);
    options.trace = !verb.trace.empty();
    options.drain_after = verb.drain_after;
    bool terminal = isatty(fileno(stderr)) != 0 && !verb.quiet;
    if (terminal)
      options.progress = [](std::int64_t k, std::int64_t of) {
        fmt::print(stderr, "\riteration {} of {}\x1b[K", k + 1, of);
      };
    options.hang_report = !verb.hang_report.empty();
    if (options.trace) require_writable(verb.trace);
    if (options.hang_report) require_writable(verb.hang_report);
    options.memory_limit = verb.memory_limit;
    Step step;
    RunReport report;
    if (verb.sources.size() == 1 && is_plan_file(verb.sources[0])) {
      auto plan = std::make_shared<const Plan>(load_plan_to_run(verb, options));
      step = step_of(*plan, verb.sources[0]);
      if (!verb.state.empty()) load_state(step, verb.state);
      report = hocket::run(step, options, plan);
    } else {
      step = load_step(verb.sources);
      if (!verb.state.empty()) load_state(step, verb.state);
      report = hocket::run(step, options);
    }
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    if (report.certificate && report.certificate->refuted()) {
      std::string why =
          fmt::format("{}: refuted: {}", verb.sources[0], refutation_text(*report.certificate));
      if (verb.json) print(failure_json(verb, why));
      fmt::print(stderr, "hocket: {}\n", why);
      return 1;
    }
    bool wrong = report.check && !report.check->ok;
    if (report.trace)
      write_file(verb.trace, to_perfetto(*report.trace));  // first, because it may fail
    if (verb.json) print(to_json(verb, step, report));
    if (!verb.json && !verb.quiet) {
      print(to_table(step, report));
      for (const Remark& r : step.remarks) show(r);
      for (const Remark& r : report.compiled.remarks)
        if (r.pass == "check") show(r);
      if (report.check) print(to_text(*report.check));
    }
    if (wrong && (verb.json || verb.quiet)) fmt::print(stderr, "{}", to_text(*report.check));
    return wrong ? 1 : 0;
  } catch (const RunFailed& e) {
    write_failure(verb, e);
    if (verb.json) print(failure_json(verb, e.what()));
    throw;
  } catch (const std::runtime_error& e) {  // Error and RunError
    if (verb.json) print(failure_json(verb, e.what()));
    throw;
  } catch (const std::bad_alloc&) {
    if (verb.json) print(failure_json(verb, "out of memory"));
    throw;
  }
}

}  // namespace hocket::cli
