// Maps arguments to verbs and errors to exit codes. The only file that includes the argument
// parser.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/compile.h"
#include "hocket/driver/run.h"
#include "hocket/passes/framework/pass.h"
#include "hocket/report/hang_report.h"

namespace hocket::cli {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output cannot be written");
}

namespace {

/// The syntax of a list of passes, and the named lists.
std::string pass_list_help() {
  std::string text =
      "A list of passes is item,item; an item is a name, or name:key=value:key=value, or a word:\n";
  PassTable table = standard_passes();
  for (const PassTable::Word& w : table.words()) {
    std::string list;
    for (const ListStep& step : w.steps) list += (list.empty() ? "" : ",") + step.passes;
    text += fmt::format("  {} = {}\n", w.name, list);
  }
  return text + "Everything but the program goes to standard error.";
}

/// Parses an integer, because the conversion of the argument parser wraps negative numbers and
/// truncates large ones.
template <class T>
CLI::Validator whole_number() {
  return {[](std::string& text) {
            T number{};
            auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            bool right = error == std::errc() && end == text.data() + text.size();
            return right ? ""
                         : fmt::format("found '{}', wanted a whole number{}", text,
                                       std::is_unsigned_v<T> ? " from 0" : "");
          },
          ""};
}

/// Refuses an empty value, which the argument parser would treat as missing.
CLI::Validator not_empty(const std::string& wanted) {
  return {[wanted](std::string& text) {
            return text.empty() ? fmt::format("found '', wanted {}", wanted) : "";
          },
          ""};
}

struct Arguments {
  CLI::App app{"Hocket makes training steps fast on many ranks: a graph compiler and runtime."};
  OptVerb opt;
  CheckVerb check;
  ListVerb list;
  RunVerb run_options;
  ImportVerb import_options;
  ShowVerb show_options;
  CompileVerb compile_options;
  CLI::App *run_verb = nullptr, *compile_verb = nullptr, *import_verb = nullptr,
           *opt_verb = nullptr, *check_verb = nullptr, *show_verb = nullptr, *list_verb = nullptr;

  Arguments() {
    app.name("hocket");
    app.set_version_flag("--version", "hocket " HOCKET_VERSION);
    app.require_subcommand(1);
    app.footer(
        "A source (SRC) is a training step captured from PyTorch (a folder with graph.json), a "
        "model saved by\n"
        "torch.export (model.pt2 or its folder), or a program as text (.hkt, see "
        "docs/language.md).\n"
        "  hocket run examples/mlp --check                   does it compute what PyTorch "
        "computed?\n"
        "  hocket import examples/mlp -o mlp.hkt             what does it look like as a program?\n"
        "  hocket show examples/mlp                          what is in it?\n"
        "  hocket check examples/step.hkt                    is it well formed?\n"
        "  hocket opt examples/step.hkt                      what do the default passes make of "
        "it?\n"
        "  hocket opt examples/step.hkt --passes fold        ... and a pass by itself?\n"
        "  hocket compile examples/mlp -o mlp.plan           decide every instruction and byte\n"
        "  hocket list passes                                which passes are there?\n"
        "\n"
        "Exit codes: 0 done and right; 1 it ran and the answer is wrong; 2 bad usage or input, "
        "said in one\n"
        "line; 3 the run failed; 4 a bug in hocket.");
    add_run();
    add_compile();
    add_import();
    add_show();
    add_opt();
    add_check();
    add_list();
  }

  int run() {
    run_options.passes_given = run_verb->count("--passes") > 0;
    run_options.backend_given =
        run_verb->count("--backend") > 0 || run_verb->count("--threads") > 0;
    if (*run_verb) return hocket::cli::run(run_options);
    if (*compile_verb) return hocket::cli::compile(compile_options);
    if (*import_verb) return import_step(import_options);
    if (*show_verb) return hocket::cli::show(show_options);
    if (*opt_verb) return hocket::cli::opt(opt);
    if (*check_verb) return hocket::cli::check(check);
    return hocket::cli::list(list);
  }

 private:
  void add_run() {
    run_verb = app.add_subcommand("run", "runs a step on its ranks and says what came out");
    run_verb
        ->add_option("SRC", run_options.sources,
                     "the step to run, or a .plan; several .hkt files: one for each rank")
        ->required();
    run_verb->add_option("--passes", run_options.passes, "passes to run first")
        ->capture_default_str();
    add_ways_to_run();
    run_verb
        ->add_option("--trace", run_options.trace,
                     "write what happened when as JSON for ui.perfetto.dev")
        ->check(not_empty("a file"));
    run_verb
        ->add_option("--hang-report", run_options.hang_report,
                     "write where every rank stood as JSON, if the run fails")
        ->check(not_empty("a file"))
        ->type_name("F.json");
    run_verb
        ->add_option("--ranks", run_options.ranks,
                     "how many ranks; default: as many as the source is for")
        ->check(whole_number<std::int64_t>());
    run_verb
        ->add_option("--iters", run_options.iterations,
                     "how many iterations; default: as many as batches were recorded, else 1")
        ->check(whole_number<std::int64_t>());
    run_verb
        ->add_option("--random-inputs", run_options.random_inputs,
                     "make up state and inputs from this seed")
        ->check(whole_number<std::uint64_t>());
    run_verb
        ->add_option("--drain-after", run_options.drain_after,
                     "catch up with delayed work after this iteration (counted from 1), and say "
                     "what the state is; can be repeated")
        ->allow_extra_args(false)
        ->check(whole_number<std::int64_t>());
    run_verb
        ->add_option("--state", run_options.state,
                     "take the state from this .safetensors file instead of the source's")
        ->check(not_empty("a file"));
    add_memory_limit(*run_verb, run_options.memory_limit);
    run_verb->add_flag("--check", run_options.check,
                       "compare with the values that came with the source");
    run_verb->add_flag("!--no-check", run_options.certify,
                       "run the plan without proving first that it is safe and right");
    run_verb->add_flag("--json", run_options.json, "print one JSON object instead of a table");
    run_verb->add_flag("--quiet", run_options.quiet, "print nothing but errors");
    run_verb->footer(
        "Ends with the digest of all outputs and of the state that is left: equal digests, equal "
        "bits.\n"
        "With --check it exits with 1 when a value is wrong, and names the worst tensor. A rank "
        "that "
        "fails,\nwaits too long or calls something else than the others ends all ranks: exit 3, "
        "and "
        "the first cause.\ndocs/runtime.md says how ranks run and how to read the times.");
  }

  void add_ways_to_run() {
    run_verb
        ->add_option("--backend", run_options.backend,
                     "library: fast products and convolutions; reference: plain kernels")
        ->capture_default_str();
    run_verb->add_option("--threads", run_options.threads, "compute threads of each rank")
        ->check(whole_number<int>())
        ->capture_default_str();
    run_verb
        ->add_option("--comm", run_options.comm,
                     "in_process: ranks are threads that run at once; in_order: one after the "
                     "other, to compare with")
        ->capture_default_str();
    run_verb
        ->add_option("--link", run_options.link,
                     "emulate a slower link between ranks: BANDWIDTH,LATENCY as 10Gbps,20us")
        ->check(not_empty("BANDWIDTH,LATENCY"));
    run_verb
        ->add_option("--deadline", run_options.deadline,
                     "seconds that a rank waits for others before the run fails")
        ->capture_default_str();
  }

  static void add_memory_limit(CLI::App& verb, std::int64_t& limit) {
    verb.add_option_function<std::string>(
            "--memory-limit",
            [&limit](const std::string& text) {
              Bytes bytes;
              option_text::read(text, bytes);
              if (bytes.count < 1) fail("--memory-limit {}: wanted at least one byte", text);
              limit = bytes.count;
            },
            "bytes of memory of each rank at most, as in 512MiB; an error names what needs more")
        ->type_name("BYTES");
  }

  void add_compile() {
    compile_verb = app.add_subcommand("compile", "makes a plan: every instruction and every byte");
    compile_verb->add_option("SRC", compile_options.source, "the step to compile")->required();
    compile_verb->add_option("-o", compile_options.output, "where to write the plan, F.plan")
        ->required()
        ->check(not_empty("a file"))
        ->type_name("F.plan");
    compile_verb->add_option("--passes", compile_options.passes, "passes to run first")
        ->capture_default_str();
    compile_verb
        ->add_option("--backend", compile_options.backend,
                     "library: fast products and convolutions; reference: plain kernels")
        ->capture_default_str();
    compile_verb->add_option("--threads", compile_options.threads, "compute threads of each rank")
        ->check(whole_number<int>())
        ->capture_default_str();
    add_memory_limit(*compile_verb, compile_options.memory_limit);
    compile_verb->add_flag("--remarks", compile_options.remarks,
                           "say what each pass did or refused, and which state needs two buffers");
    compile_verb->footer(
        "hocket run F.plan executes it, hocket show F.plan says what is in it. A plan is for one "
        "kind of\nprocessor and one version of the library; elsewhere it is refused. docs/plan.md "
        "explains plans.");
  }

  void add_import() {
    import_verb = app.add_subcommand("import", "turns a source into a program as text");
    import_verb->add_option("SRC", import_options.source, "the source to read")->required();
    import_verb
        ->add_option("-o", import_options.output,
                     "where to write OUT.hkt, with OUT.state.safetensors and so on beside it; "
                     "without it, or with -, the text is printed")
        ->check(not_empty("a file"))
        ->type_name("OUT.hkt");
    import_verb->add_flag("--remarks", import_options.remarks, "say what the importer noticed");
    import_verb->footer("docs/importing.md says what can be imported and how to read a refusal.");
  }

  void add_show() {
    show_verb = app.add_subcommand("show", "what is in a source");
    show_verb->add_option("SRC", show_options.source, "the source to look at")->required();
    show_verb
        ->add_option("--around", show_options.around,
                     "draw what is near this value (%name) as DOT instead")
        ->check(not_empty("the name of a value"));
    show_verb->add_flag("--memory", show_options.memory,
                        "of a .plan: what is alive when most memory is in use");
    show_verb
        ->add_option("--svg", show_options.svg,
                     "of a .plan: draw its memory over time into this file")
        ->check(not_empty("a file"));
    show_verb->add_option("--distance", show_options.distance, "how near, in nodes")
        ->check(whole_number<int>())
        ->capture_default_str();
    show_verb->footer("Draw it: hocket show SRC --around %loss | dot -Tsvg > loss.svg");
  }

  void add_opt() {
    opt_verb = app.add_subcommand("opt", "prints a program after passes");
    opt_verb->add_option("SRC", opt.source, "the source; - reads a .hkt text from standard input")
        ->required();
    opt_verb
        ->add_option("--passes", opt.passes,
                     "passes to run, as in dead-nodes,fold; none for no pass")
        ->capture_default_str();
    opt_verb
        ->add_option("-o", opt.output,
                     "write the program here instead of printing it, with its table of constants "
                     "beside it; - prints it")
        ->check(not_empty("a file"));
    opt_verb
        ->add_option("--print-after", opt.print_after,
                     "also show the program after this pass (all: each); can be repeated")
        ->allow_extra_args(false);
    opt_verb
        ->add_option("--dump", opt.dump,
                     "write the program before and after each pass into this folder")
        ->check(not_empty("a folder"));
    opt_verb->add_option("--skip", opt.skip, "leave this pass out; can be repeated")
        ->allow_extra_args(false);
    opt_verb->add_flag("--phases", opt.phases,
                       "print what is run of it: prologue, steady and drain, when work is delayed");
    opt_verb->add_flag("--remarks", opt.remarks,
                       "say what each pass did, refused, and how long it took");
    opt_verb->footer(pass_list_help());
  }

  void add_check() {
    check_verb = app.add_subcommand("check", "verifies programs, and certifies plans");
    check_verb->add_option("FILE", check.sources, "one or more sources or plans")->required();
    check_verb
        ->add_option(
            "--launch-order", check.launch_order,
            "how a transport completes the transfers of a rank: per-group, or total (all in "
            "the order of their starts)")
        ->capture_default_str();
    check_verb->footer(
        "Prints a line for each good program; for a bad one, where and what, and exits with 2.\n"
        "A plan is followed through runs of any length: no rank may wait in vain, no byte may be "
        "read before\nit is written or touched in flight, and all outputs and states must be those "
        "of its source, bit for\nbit. Several plans are one for each rank, and must fit together. "
        "A "
        "plan that is refuted: exit 1.\ndocs/safety.md says what is proven.");
  }

  void add_list() {
    list_verb = app.add_subcommand("list", "what there is");
    list_verb->add_option("WHAT", list.what, "ops or passes")->required();
    list_verb->footer(
        "One line each: its name and what it does. docs/ops.md and docs/passes.md say more.");
  }
};

/// The parser's error as one line that names the help to read.
int usage_error(const Arguments& arguments, const CLI::ParseError& e, int argc, char** argv) {
  std::string what = e.what();
  std::string verb =
      arguments.app.get_subcommands().empty() ? "" : arguments.app.get_subcommands()[0]->get_name();
  if (verb.empty() && argc > 1) {
    bool option = argv[1][0] == '-';
    std::vector<std::string_view> known{"run", "compile", "import", "show", "opt", "check", "list"};
    if (option) known = {"--help", "--version"};
    what = fmt::format("unknown {} {}{}", option ? "option" : "command", shown(argv[1]),
                       nearest_hint(argv[1], known));
  }
  std::ranges::replace(what, '\n', ' ');
  fmt::print(stderr, "hocket: {}; see 'hocket {}--help'\n", what, verb.empty() ? "" : verb + " ");
  return 2;
}

int parse_and_run(int argc, char** argv) {
  Arguments arguments;
  try {
    arguments.app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::ostringstream help;
    arguments.app.exit(e, help, help);
    print(help.str());
    return 0;
  } catch (const CLI::ParseError& e) {
    return usage_error(arguments, e, argc, argv);
  }
  return arguments.run();
}

}  // namespace
}  // namespace hocket::cli

int main(int argc, char** argv) {
  try {
    return hocket::cli::parse_and_run(argc, argv);
  } catch (const hocket::Error& e) {
    fmt::print(stderr, "hocket: {}\n", e.what());
    return 2;
  } catch (const hocket::RunFailed& e) {
    fmt::print(stderr, "hocket: {}\n{}", e.what(), hocket::to_lines(e.report()));
    return 3;
  } catch (const hocket::RunError& e) {
    fmt::print(stderr, "hocket: {}\n", e.what());
    return 3;
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
