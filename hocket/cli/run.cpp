#include "hocket/driver/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/json_writer.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/digest.h"
#include "hocket/report/perfetto.h"

namespace hocket::cli {
namespace {

/// The only element of a tensor.
double only_value(const Tensor& t) {
  double v = 0;
  visit(t.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    v = static_cast<double>(load(t.as<T>()[0]));
  });
  return v;
}

void write_outputs(JsonWriter& json, const RunReport& report) {
  json.key("outputs").begin_array();
  for (const auto& iteration : report.outcome.outputs) {
    json.begin_array();
    for (const auto& rank : iteration) {
      json.begin_array();
      for (std::size_t i = 0; i < rank.size(); ++i) {
        const Type& type = rank[i].type();
        json.begin_object().field("name", i < report.output_names.size() ? report.output_names[i]
                                                                         : fmt::format("out{}", i));
        json.field("dtype", name(type.dtype)).key("shape").begin_array();
        for (std::int64_t d : type.shape) json.value(d);
        json.end_array();
        if (i < report.output_lags.size() && report.output_lags[i] > 0)
          json.field("lag", report.output_lags[i]);
        if (type.elements() == 1)
          json.field("value", only_value(rank[i]));
        else
          json.field("digest", Digest().add(rank[i]).text());
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
    // A pass that ran twice has one entry, the sum.
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
  write_outputs(json, report);
  write_remarks(json, step, report);
  return json.end_object().take() + "\n";
}

/// One line per iteration: the outputs that are one number, by rank.
std::string to_table(const Step& step, const RunReport& report) {
  std::string text =
      fmt::format("{}: {}, {}, {}\n", step.source, count_of(report.ranks, "rank"),
                  count_of(report.nodes, "node"), count_of(report.collectives, "collective"));
  for (std::size_t k = 0; k < report.outcome.outputs.size(); ++k) {
    text += fmt::format("iteration {}:", k);
    std::size_t shown = 0;
    for (std::size_t i = 0; i < report.output_names.size() && shown < 4; ++i) {
      if (report.outcome.outputs[k][0][i].type().elements() != 1) continue;
      ++shown;
      text += fmt::format(" {} =", report.output_names[i]);
      if (i < report.output_lags.size() && report.output_lags[i] > 0)
        text += fmt::format(" ({} later)", count_of(report.output_lags[i], "iteration"));
      for (std::size_t r = 0; r < report.outcome.outputs[k].size() && r < 8; ++r)
        text += fmt::format(" {:.6g}", only_value(report.outcome.outputs[k][r][i]));
      if (report.outcome.outputs[k].size() > 8) text += " ...";
    }
    if (shown == 0) text += fmt::format(" {}", count_of(std::ssize(report.output_names), "output"));
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

std::string to_text(const Comparison& c) {
  if (c.tensors == 0) return "check: nothing to compare\n";
  return fmt::format("check: {}; {} compared, worst {}: off by {:.3g}, {:.3g} allowed\n",
                     c.ok ? "ok" : "WRONG", count_of(c.tensors, "tensor"), c.name, c.error,
                     c.tolerance);
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
    Step step = load_step(verb.sources);
    RunReport report = hocket::run(step, options);
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    bool wrong = report.check && !report.check->ok;
    if (verb.json) print(to_json(verb, step, report));
    if (!verb.json && !verb.quiet) {
      print(to_table(step, report));
      for (const Remark& r : step.remarks) show(r);
      if (report.check) print(to_text(*report.check));
    }
    if (wrong && (verb.json || verb.quiet)) fmt::print(stderr, "{}", to_text(*report.check));
    if (report.trace) write_file(verb.trace, to_perfetto(*report.trace));
    return wrong ? 1 : 0;
  } catch (const std::runtime_error& e) {  // Error and RunError
    if (verb.json)
      print(JsonWriter()
                .begin_object()
                .field("source", source_text(verb))
                .field("error", e.what())
                .end_object()
                .take() +
            "\n");
    throw;
  }
}

}  // namespace hocket::cli
