#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/constants.h"
#include "hocket/driver/load.h"
#include "hocket/ir/print.h"
#include "hocket/iter/phases_text.h"

namespace hocket::cli {

void show(const Remark& r) {
  fmt::print(stderr, "remark: {}{}{}: {}: {}\n", r.pass, r.pass.empty() ? "" : ": ", r.where,
             r.what, r.why);
}

namespace {

void write(const Program& program, const OptVerb& verb) {
  bool print_it = verb.output.empty() || verb.output == "-";
  if (verb.output == "-" && !verb.phases && !used_constants(program).empty())
    fail(
        "-o -: {} has constants that go to a file beside its text; name a file, or leave out -o "
        "for the text alone",
        verb.source);
  if (!print_it && !verb.phases) return save_program(program, verb.output);
  std::string text = verb.phases ? phases_text(program) : to_text(program);
  if (print_it)
    print(text);
  else
    write_file(verb.output, text);
}

}  // namespace

int opt(const OptVerb& verb) {
  CompileOptions options;
  options.passes = verb.passes;
  options.run.skip = verb.skip;
  for (const std::string& name : verb.print_after)
    if (name != "all") options.table.find(name);
  auto dump = verb.dump.empty() ? nullptr : dump_into(verb.dump);
  options.run.after_each = [&](std::size_t number, const std::string& pass,
                               const std::string& text) {
    if (dump) dump(number, pass, text);
    auto wanted = [&](const std::string& name) { return name == pass || name == "all"; };
    if (number > 0 && std::ranges::any_of(verb.print_after, wanted))
      fmt::print(stderr, "# after {}\n{}", pass, text);
  };
  if (!dump && verb.print_after.empty()) options.run.after_each = nullptr;

  Program program = load(verb.source);
  CompileReport report = compile(program, options);
  if (verb.remarks) {
    for (const Remark& r : report.remarks) show(r);
    for (const PassReport& p : report.passes) {
      fmt::print(stderr, "pass: {}: {:.3f} ms, {}\n", p.pass, p.seconds * 1e3,
                 p.changed ? "changed" : "no change");
      for (const Remark& r : p.remarks) show(r);
    }
  }
  write(program, verb);
  return 0;
}

}  // namespace hocket::cli
