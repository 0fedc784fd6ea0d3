#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/file.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/load.h"
#include "hocket/ir/print.h"
#include "hocket/iter/phases_text.h"

namespace hocket::cli {

void show(const Remark& r) {
  fmt::print(stderr, "remark: {}{}{}: {}: {}\n", r.pass, r.pass.empty() ? "" : ": ", r.where,
             r.what, r.why);
}

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
  if (verb.output.empty())
    print(verb.phases ? phases_text(program) : to_text(program));
  else if (verb.phases)
    write_file(verb.output, phases_text(program));
  else
    save_program(program, verb.output);
  return 0;
}

}  // namespace hocket::cli
