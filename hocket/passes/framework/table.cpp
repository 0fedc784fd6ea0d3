// The rows of all passes, and the rules of the table.

#include "hocket/passes/framework/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/passes/cleanup/common_nodes.h"
#include "hocket/passes/cleanup/dead_nodes.h"
#include "hocket/passes/cleanup/fold.h"
#include "hocket/passes/collectives/bucket_collectives.h"
#include "hocket/passes/collectives/order_collectives.h"
#include "hocket/passes/collectives/raise_collectives.h"
#include "hocket/passes/collectives/sink_waits.h"
#include "hocket/passes/collectives/split_collectives.h"
#include "hocket/passes/loop/cross_iteration.h"
#include "hocket/passes/optimizer/fuse_optimizer.h"
#include "hocket/passes/optimizer/shard_optimizer.h"
#include "hocket/passes/optimizer/split_optimizer.h"

namespace hocket {

PassTable all_passes() {
  PassTable table;
  table.add(make_pass(
      {.name = "dead-nodes", .doc = "removes nodes whose results are not read, except effects"},
      dead_nodes));
  table.add(make_pass(
      {.name = "common-nodes",
       .doc = "merges pure nodes, collectives and waits that have equal operands and attributes"},
      common_nodes));
  table.add(make_pass({.name = "fold",
                       .doc = "folds constants, and removes or joins reshapes, permutes, "
                              "broadcasts and casts that do nothing"},
                      fold));
  table.add(make_pass({.name = "expedite-collectives",
                       .doc = "starts each collective right behind the last of its operands",
                       .example = "expedite-collectives/example"},
                      expedite_collectives));
  table.add(make_pass({.name = "bucket-collectives",
                       .doc = "merges small collectives of one kind into one with several members",
                       .once = true,
                       .example = "bucket-collectives/example"},
                      bucket_collectives,
                      {{"first", &BucketCollectives::first, "bytes that close the first bucket"},
                       {"cap", &BucketCollectives::cap, "bytes that close all others"},
                       {"by",
                        &BucketCollectives::by,
                        "`path`: a bucket holds members of one module only",
                        {"kind", "path"}},
                       {"only",
                        &BucketCollectives::only,
                        "`gradients`: only those that update parameters and optimizer state",
                        {"all", "gradients"}},
                       {"divide",
                        &BucketCollectives::divide,
                        "`after`: a division in front of all members is done behind the bucket",
                        {"same", "after"},
                        Bits::changes}}));
  table.add(make_pass(
      {.name = "split-collectives",
       .doc = "cuts large all-reduces, reduces and broadcasts into parts of flat elements",
       .example = "split-collectives/example"},
      split_collectives,
      {{"part", &SplitCollectives::part, "the most bytes that a collective moves"}}));
  table.add(make_pass({.name = "order-collectives",
                       .doc = "numbers channels in list order, equally on all ranks",
                       .example = "order-collectives/example"},
                      order_collectives));
  table.add(make_pass({.name = "raise-collectives",
                       .doc = "starts collectives as early as their operands and the order of "
                              "their group allow",
                       .example = "raise-collectives/example"},
                      raise_collectives));
  table.add(
      make_pass({.name = "sink-waits",
                 .doc = "moves each wait down to its first reader, with cheap nodes behind it",
                 .example = "sink-waits/example"},
                sink_waits));
  // Once, because options of a second run would name nodes that the first has replaced.
  // `fuse-optimizer` has no such options and may run at any time.
  table.add(make_pass(
      {.name = "split-optimizer",
       .doc = "cuts an optimizer of many tensors by bucket, by parameter or by a set of "
              "gradients",
       .after = {"bucket-collectives"},
       .once = true},
      split_optimizer,
      {{"by", &SplitOptimizer::by, "what gets an optimizer of its own", {"bucket", "parameter"}},
       {"gradients", &SplitOptimizer::gradients,
        "cut these off instead, written `%a+%b`; `none`: go by `by`"}}));
  table.add(make_pass({.name = "fuse-optimizer",
                       .doc = "joins optimizers that have the same hyper-parameters and do not "
                              "depend on each other"},
                      fuse_optimizer));
  // Once, because a second run would only refuse the same optimizers again.
  table.add(make_pass({.name = "shard-optimizer",
                       .doc = "turns all-reduces of gradients into reduce-scatters; each rank "
                              "updates its piece, and new parameters are gathered",
                       .after = {"bucket-collectives", "split-optimizer"},
                       .once = true,
                       .example = "shard-optimizer/example"},
                      shard_optimizer));
  table.add(make_pass(
      {.name = "cross-iteration",
       .doc = "delays waits for late gradients, and their updates, into the next iteration",
       .after = {"bucket-collectives", "split-optimizer", "shard-optimizer"},
       .once = true,
       .retimes = true},
      cross_iteration,
      {{"move", &CrossIteration::move,
        "move these collectives themselves, with all that depends on them, written `%a+%b`; "
        "`none`: go by `delay`"},
       {"before", &CrossIteration::before,
        "the node that they go in front of; `none`: the first reader of what they update"},
       {"delay",
        &CrossIteration::delay,
        "`late`: gradients that would be waited for; `all`: all that may be delayed",
        {"late", "all"}}}));
  table.validate();
  return table;
}

void PassTable::add(Pass pass) {
  bool taken = std::ranges::any_of(passes_, [&](const Pass& p) { return p.name == pass.name; }) ||
               std::ranges::any_of(words_, [&](const Word& w) { return w.name == pass.name; }) ||
               pass.name == "none";
  if (taken) fail("pass table: the name '{}' is taken", pass.name);
  if (!pass.on_graph && !pass.on_program) fail("pass table: '{}' has no function", pass.name);
  passes_.push_back(std::move(pass));
}

void PassTable::add_word(std::string word, std::string doc, std::vector<ListStep> steps) {
  Word added{std::move(word), std::move(doc), std::move(steps), {}};
  for (const ListStep& step : added.steps)
    for (PassCall& call : parse(step.passes)) added.calls.push_back(std::move(call));
  words_.push_back(std::move(added));
}

const Pass& PassTable::find(std::string_view name) const {
  auto it = std::ranges::find(passes_, name, &Pass::name);
  if (it != passes_.end()) return *it;
  std::vector<std::string_view> known;
  for (const Pass& p : passes_) known.push_back(p.name);
  fail("unknown pass '{}'{}", name, nearest_hint(name, known));
}

void PassTable::validate() const {
  enum class Mark : std::uint8_t { unseen, open, done };
  std::vector<Mark> marks(passes_.size());
  std::vector<std::string_view> trail;
  std::function<void(std::size_t)> visit = [&](std::size_t i) {
    const Pass& pass = passes_[i];
    if (marks[i] == Mark::done) return;
    trail.push_back(pass.name);
    if (marks[i] == Mark::open) {
      auto from = std::ranges::find(trail, std::string_view(pass.name));
      fail("pass table: no order satisfies {}", fmt::join(from, trail.end(), " -> "));
    }
    marks[i] = Mark::open;
    for (const auto& list : {pass.needs, pass.after})
      for (const std::string& name : list) {
        auto it = std::ranges::find(passes_, name, &Pass::name);
        if (it == passes_.end())
          fail("pass table: '{}' names the unknown pass '{}'", pass.name, name);
        visit(static_cast<std::size_t>(it - passes_.begin()));
      }
    marks[i] = Mark::done;
    trail.pop_back();
  };
  for (std::size_t i = 0; i < passes_.size(); ++i) visit(i);
}

namespace {

PassCall parse_item(std::string_view item) {
  auto parts = split(item, ':');
  PassCall call{std::string(trim(parts[0])), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::size_t equals = parts[i].find('=');
    if (equals == parts[i].npos)
      fail("pass '{}': found '{}', wanted key=value", call.name, parts[i]);
    std::string_view key = parts[i].substr(0, equals);
    if (std::ranges::any_of(call.options, [&](const auto& o) { return o.first == key; }))
      fail("pass '{}': option '{}' is given twice", call.name, key);
    call.options.emplace_back(key, parts[i].substr(equals + 1));
  }
  return call;
}

}  // namespace

const Pass& PassTable::known_item(std::string_view name) const {
  auto it = std::ranges::find(passes_, name, &Pass::name);
  if (it != passes_.end()) return *it;
  std::vector<std::string_view> known{"none"};
  for (const Pass& p : passes_) known.push_back(p.name);
  for (const Word& w : words_) known.push_back(w.name);
  fail("unknown pass '{}'{}", name, nearest_hint(name, known));
}

std::vector<PassCall> PassTable::parse(std::string_view text, std::vector<Remark>* remarks) const {
  std::vector<PassCall> calls;
  std::vector<bool> of_word;  // by call: true if it comes from a word and the user has not named it
  auto drop = [&](const std::string& name) {
    if (remarks != nullptr)
      remarks->push_back(
          {.where = name, .what = "not run a second time", .why = "the list holds it already"});
  };
  if (trim(text).empty()) return calls;
  for (std::string_view item : split(text, ',')) {
    PassCall call = parse_item(item);
    if (call.name == "none") {
      if (!call.options.empty()) fail("pass 'none': takes no options");
      continue;
    }
    auto word = std::ranges::find(words_, call.name, &Word::name);
    if (word != words_.end()) {
      if (!call.options.empty())
        fail("'{}' stands for several passes: give options behind it", call.name);
      for (const PassCall& step : word->calls) {
        if (find(step.name).once &&
            std::ranges::find(calls, step.name, &PassCall::name) != calls.end()) {
          drop(step.name);
          continue;
        }
        calls.push_back(step);
        of_word.push_back(true);
      }
      continue;
    }
    const Pass& pass = known_item(call.name);
    std::size_t step = 0;
    while (step < calls.size() && !(pass.once && of_word[step] && calls[step].name == call.name))
      ++step;
    if (step == calls.size()) {
      calls.push_back(std::move(call));
      of_word.push_back(false);
      continue;
    }
    of_word[step] = false;  // if the user names it again, running it is an error
    if (call.options.empty())
      drop(call.name);
    else
      calls[step].options = std::move(call.options);
  }
  return calls;
}

}  // namespace hocket
