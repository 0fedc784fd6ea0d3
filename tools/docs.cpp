// Generates documents from tables: `docs FOLDER` writes ops.md and passes.md, and the tables of
// rules in plan.md and safety.md; `docs --check FOLDER` fails if they are out of date.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/check/check.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ops/ops.h"
#include "hocket/plan/verify_plan.h"

namespace hocket {
namespace {

std::string attribute_text(const AttributeSpec& a) {
  std::string fallback = std::visit(
      [](auto v) -> std::string {
        using T = decltype(v);
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, std::string_view>)
          return quoted(v);
        else
          return to_text(Attribute(v));
      },
      a.fallback);
  bool given_out = a.name == "channel";
  return fmt::format("  - `{}` ({}{}): {}\n", a.name, name(a.kind),
                     fallback.empty() || given_out ? "" : fmt::format(", default `{}`", fallback),
                     a.doc);
}

std::string operand_text(const Op& op) {
  std::string text;
  for (const OperandSpec& o : op.operands) {
    if (!text.empty()) text += ", ";
    text += o.name;
    if (o.count == Count::many) text += "...";
    if (o.count == Count::optional) text += "?";
  }
  return text;
}

struct Example {
  std::string line;   // the statement
  std::string types;  // of operands and results
};

/// For every op an example: the first statement in the golden files that uses it.
std::map<const Op*, Example> examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HOCKET_GOLDEN_DIR))
    if (entry.path().extension() == ".hkt") files.push_back(entry.path());
  // Files whose names begin with `ops` come first, since they have the best examples.
  std::ranges::sort(
      files, {}, [](const auto& f) { return std::pair(!f.stem().string().starts_with("ops"), f); });
  std::map<const Op*, Example> found;
  for (const auto& file : files) {
    std::string text = read_file(file.string());
    if (text.find("\nerror: ") != text.npos) continue;
    Program program = parse(text.substr(0, text.find("\n===\n") + 1), ops::all());
    for (const Graph& g : program.graphs)
      for (NodeId n : g.nodes()) {
        std::string types, results;
        for (Value v : g[n].inputs)
          types += fmt::format("{}{}", types.empty() ? "" : ", ", to_text(g.type(v)));
        for (Value v : g.results(n))
          results += fmt::format("{}{}", results.empty() ? "" : ", ", to_text(g.type(v)));
        found.emplace(g[n].op, Example{to_text(g, n),
                                       fmt::format("{} -> {}", types.empty() ? "nothing" : types,
                                                   results.empty() ? "nothing" : results)});
      }
  }
  return found;
}

std::string ops_document() {
  std::string out =
      "# The ops\n\nWritten by `make docs` from the op records; do not edit. `xs...` is a list of "
      "any length, `x?` may be left "
      "out. Elementwise operands have one dtype and one shape, except that a rank-0 operand "
      "applies to all elements. How ops are "
      "written is in [language.md](language.md).\n";
  std::map<const Op*, Example> shown = examples();
  for (const Op* op : ops::all()) {
    if (!shown.contains(op)) fail("op '{}': no golden file has an example", op->name);
    out += fmt::format("\n## {}\n\n{}.\n\n", op->name, op->doc);
    out += fmt::format("- operands: {}\n", op->operands.empty() ? "none" : operand_text(*op));
    if (!op->attributes.empty()) out += "- attributes:\n";
    for (const AttributeSpec& a : op->attributes) out += attribute_text(a);
    std::string traits;
    auto trait = [&](bool has, std::string_view text) {
      if (has) traits += fmt::format("{}{}", traits.empty() ? "" : "; ", text);
    };
    trait(op->body != nullptr, "elementwise");
    trait(op->is_collective, "a collective: its results are in flight until `wait`");
    trait(op->has_effect, "has an effect: never removed or merged");
    trait(op->is_ordering, "never folded or merged");
    trait(op->depends_on_rank, "depends on the rank");
    trait(op->has_region, "has a region");
    trait(op->moves_data, "moves elements, keeps their bits");
    trait(op->exactly_rounded, "bits are the same on every machine");
    trait(op->is_optimizer, "an optimizer: can be cut and joined along its lists");
    trait(op->expand != nullptr, "a composite: runs as its expansion into smaller ops");
    if (!traits.empty()) out += fmt::format("- {}\n", traits);
    out += fmt::format("- types in the example: {}\n", shown[op].types);
    out += fmt::format("\n```\n{}\n```\n", shown[op].line);
  }
  return out;
}

/// The program before and after the pass, from the golden file that the pass names.
std::string pass_example(const Pass& pass) {
  std::string file = pass.example.empty() ? pass.name + "/example" : pass.example;
  std::string path = fmt::format("{}/{}.hkt", HOCKET_GOLDEN_DIR, file);
  std::string text = read_file(path);
  std::size_t sentence = text.find('\n'), body = text.find('\n', sentence + 1) + 1,
              middle = text.find("===\n");
  return fmt::format("{}\n\n```\n{}```\n\nbecomes\n\n```\n{}```\n", text.substr(2, sentence - 2),
                     text.substr(body, middle - body), text.substr(middle + 4));
}

std::string passes_document() {
  PassTable table = standard_passes();
  std::string out =
      "# The passes\n\nWritten by `make docs` from the pass table and the golden tests; do not "
      "edit. A list of passes is written "
      "`item,item`; an item is `name` or `name:key=value:key=value`; `none` is the empty list. "
      "Sizes are bytes, or KiB, MiB, GiB. "
      "`bits: same` means that no bit of any result changes.\n\n| pass | does | bits "
      "|\n|---|---|---|\n";
  for (const Pass& p : table.passes())
    out += fmt::format("| [`{0}`](#{0}) | {1} | {2} |\n", p.name, p.doc,
                       p.bits == Bits::same ? "same" : "changes");
  out += "\nLists that have a name, with the reason for each step:\n";
  for (const PassTable::Word& w : table.words()) {
    out += fmt::format("\n**`{}`**: {}.\n\n", w.name, w.doc);
    for (std::size_t i = 0; i < w.steps.size(); ++i)
      out += fmt::format("{}. `{}`: {}\n", i + 1, w.steps[i].passes, w.steps[i].why);
  }
  for (const Pass& p : table.passes()) {
    out += fmt::format("\n## {}\n\n{}.\n\n", p.name, p.doc);
    for (const std::string& n : p.needs) out += fmt::format("- needs `{}` before it\n", n);
    for (const std::string& n : p.after)
      out += fmt::format("- comes after `{}` where both are used\n", n);
    if (p.once) out += "- once per program\n";
    for (const OptionRow& o : p.options)
      out += fmt::format("- `{}` ({}, default `{}`): {}{}\n", o.name,
                         o.values.empty() ? o.kind : fmt::format("{}", fmt::join(o.values, " or ")),
                         o.fallback, o.doc, o.bits == Bits::changes ? "; bits change" : "");
    if (!out.ends_with("\n\n")) out += '\n';
    out += pass_example(p);
  }
  return out;
}

/// The document with these rules in its table of rules.
std::string with_rules(const std::string& path, std::span<const Rule> rules) {
  std::string text = read_file(path), head = "| name | rule |\n|---|---|\n", rows;
  for (const Rule& r : rules) rows += fmt::format("| `{}` | {} |\n", r.name, r.doc);
  std::size_t begin = text.find(head);
  if (begin == text.npos) fail("{}: no table of rules", path);
  begin += head.size();
  std::size_t end = text.find("\n\n", begin) + 1;
  return text.replace(begin, end - begin, rows);
}

int run(bool check, const std::string& folder) {
  int stale = 0;
  auto rules_in = [&](const char* file, std::span<const Rule> rules) {
    return std::pair{file, with_rules(fmt::format("{}/{}", folder, file), rules)};
  };
  for (const auto& [file, text] :
       {std::pair{"ops.md", ops_document()}, std::pair{"passes.md", passes_document()},
        rules_in("plan.md", plan_rules()), rules_in("safety.md", safety_rules())}) {
    std::string path = folder + "/" + file;
    if (!check) {
      write_file(path, text);
    } else if (!std::filesystem::exists(path) || read_file(path) != text) {
      fmt::print(stderr, "{}: out of date; run 'make docs'\n", path);
      ++stale;
    }
  }
  return stale == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    fmt::print(stderr, "usage: docs [--check] FOLDER\n");
    return 2;
  }
  try {
    return hocket::run(check, argv[argc - 1]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "docs: {}\n", e.what());
    return 1;
  }
}
