// Arguments to verbs, errors to exit codes. The only file that sees the argument parser.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/passes/table.h"

namespace hocket::cli {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output cannot be written");
}

namespace {

/// How a list of passes is written, and what the words stand for.
std::string pass_list_help() {
  std::string text =
      "A list of passes is item,item; an item is a name, or name:key=value:key=value, or a word:\n";
  PassTable table = standard_passes();
  for (const PassTable::Word& w : table.words()) {
    std::string list;
    for (const PassCall& c : w.calls) list += (list.empty() ? "" : ",") + c.name;
    text += fmt::format("  {} = {}\n", w.name, list);
  }
  return text + "Everything but the program goes to standard error.";
}

struct Arguments {
  CLI::App app{"Hocket makes training steps fast on many ranks: a graph compiler and runtime."};
  OptVerb opt;
  CheckVerb check;
  ListVerb list;
  CLI::App *opt_verb = nullptr, *check_verb = nullptr, *list_verb = nullptr;

  Arguments() {
    app.name("hocket");
    app.set_version_flag("--version", "hocket " HOCKET_VERSION);
    app.require_subcommand(1);
    app.footer(
        "A program is a text: see docs/language.md, or start with an example:\n"
        "  hocket check examples/step.hkt                    is it well formed?\n"
        "  hocket opt examples/step.hkt                      what do the default passes make of "
        "it?\n"
        "  hocket opt examples/step.hkt --passes fold        ... and a pass by itself?\n"
        "  hocket list passes                                which passes are there?\n"
        "\n"
        "Exit codes: 0 done and right; 1 it ran and the answer is wrong; 2 bad usage or input, "
        "said in one\n"
        "line; 3 the run failed; 4 a bug in hocket.");

    opt_verb = app.add_subcommand("opt", "prints a program after passes");
    opt_verb->add_option("SRC", opt.source, "a .hkt text; - reads standard input")->required();
    opt_verb
        ->add_option("--passes", opt.passes,
                     "passes to run, as in dead-nodes,fold; none for no pass")
        ->capture_default_str();
    opt_verb->add_option("-o", opt.output, "write the program here instead of printing it");
    opt_verb->add_option("--print-after", opt.print_after,
                         "also show the program after this pass (all: each)");
    opt_verb->add_option("--dump", opt.dump,
                         "write the program before and after each pass into this folder");
    opt_verb->add_option("--skip", opt.skip, "leave this pass out");
    opt_verb->add_flag("--remarks", opt.remarks,
                       "say what each pass did, refused, and how long it took");
    opt_verb->footer(pass_list_help());

    check_verb = app.add_subcommand("check", "verifies programs");
    check_verb->add_option("FILE", check.sources, "one or more .hkt texts")->required();
    check_verb->footer(
        "Prints a line for each good program; for a bad one, where and what, and exits with 2.");

    list_verb = app.add_subcommand("list", "what there is");
    list_verb->add_option("WHAT", list.what, "ops or passes")->required();
    list_verb->footer(
        "One line each: its name and what it does. docs/ops.md and docs/passes.md say more.");
  }

  int run() {
    if (*opt_verb) return hocket::cli::opt(opt);
    if (*check_verb) return hocket::cli::check(check);
    return hocket::cli::list(list);
  }
};

/// The parser's complaint as one line that says where to look.
int usage_error(const Arguments& arguments, const CLI::ParseError& e, int argc, char** argv) {
  std::string what = e.what();
  std::string verb =
      arguments.app.get_subcommands().empty() ? "" : arguments.app.get_subcommands()[0]->get_name();
  if (verb.empty() && argc > 1 && argv[1][0] != '-') {
    std::vector<std::string_view> known{"opt", "check", "list"};
    what = fmt::format("unknown command '{}'{}", argv[1], nearest_hint(argv[1], known));
  }
  std::ranges::replace(what, '\n', ' ');
  fmt::print(stderr, "hocket: {}; see 'hocket {}--help'\n", what, verb.empty() ? "" : verb + " ");
  return 2;
}

int run(int argc, char** argv) {
  Arguments arguments;
  try {
    arguments.app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return arguments.app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_error(arguments, e, argc, argv);
  }
  return arguments.run();
}

}  // namespace
}  // namespace hocket::cli

int main(int argc, char** argv) {
  try {
    return hocket::cli::run(argc, argv);
  } catch (const hocket::Error& e) {
    fmt::print(stderr, "hocket: {}\n", e.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hocket: out of memory\n");
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr,
               "hocket: internal error: {}; please report it with the program that caused it\n",
               e.what());
    return 4;
  }
}
