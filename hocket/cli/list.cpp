#include <fmt/core.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/cli/verbs.h"
#include "hocket/driver/compile.h"
#include "hocket/ops/ops.h"

namespace hocket::cli {
namespace {

std::string ops_text() {
  std::string text;
  std::size_t width = 0;
  for (const Op* op : ops::all()) width = std::max(width, op->name.size() + 2);
  for (const Op* op : ops::all()) text += fmt::format("{:<{}}{}\n", op->name, width, op->doc);
  return text;
}

std::string passes_text() {
  std::string text;
  PassTable table = standard_passes();
  std::size_t width = 0;
  for (const Pass& p : table.passes()) width = std::max(width, p.name.size() + 2);
  for (const Pass& p : table.passes()) {
    std::string options;
    for (const OptionRow& o : p.options) options += fmt::format(" [{}={}]", o.name, o.fallback);
    text += fmt::format("{:<{}}{}{}\n", p.name, width, p.doc, options);
  }
  for (const PassTable::Word& w : table.words())
    text += fmt::format("{:<{}}a list: {}\n", w.name, width, w.doc);
  return text;
}

}  // namespace

int list(const ListVerb& verb) {
  constexpr std::string_view known[] = {"ops", "passes"};
  if (verb.what == "ops")
    print(ops_text());
  else if (verb.what == "passes")
    print(passes_text());
  else
    fail("list: unknown list '{}', wanted ops or passes{}", verb.what,
         nearest_hint(verb.what, known));
  return 0;
}

}  // namespace hocket::cli
