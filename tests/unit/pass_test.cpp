#include <gtest/gtest.h>

#include <filesystem>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"
#include "hocket/passes/cleanup/dead_nodes.h"
#include "hocket/passes/framework/runner.h"
#include "support/broken_passes.h"

namespace hocket {
namespace {

Program small() {
  return parse(
      "graph step(%x: f32[4]) {\n  %dead: f32[4] = exp(%x)\n  %y: f32[4] = relu(%x)\n  return "
      "%y\n}\n",
      ops::all());
}

void nothing(Graph&) {}

/// Three passes: `second` needs `first`, `third` comes after `first` where both are used.
PassTable dummies() {
  PassTable table;
  table.add(make_pass({.name = "first", .doc = ""}, nothing));
  table.add(make_pass({.name = "second", .doc = "", .needs = {"first"}}, nothing));
  table.add(make_pass({.name = "third", .doc = "", .after = {"first"}}, nothing));
  table.add(make_pass({.name = "only", .doc = "", .once = true}, nothing));
  return table;
}

void run(Program& p, const PassTable& table, std::string_view list, const RunPasses& options = {}) {
  run_passes(p, table, table.parse(list), options);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

TEST(Passes, OrderIsCheckedPerProgram) {
  PassTable table = dummies();
  table.validate();
  Program p = small();
  run(p, table, "first,third,second");
  EXPECT_EQ(p.applied, (std::vector<std::string>{"first", "third", "second"}));
  Program q = small();  // another program starts afresh
  run(q, table, "third");
  EXPECT_EQ(error_of([&] { run(q, table, "first"); }),
            "pass 'first': 'third' must be applied after it, and was applied already");
  Program r = small();
  EXPECT_EQ(error_of([&] { run(r, table, "second"); }),
            "pass 'second': 'first' are the prerequisites of it; applied so far: nothing");
  run(r, table, "only");
  EXPECT_EQ(error_of([&] { run(r, table, "only"); }), "pass 'only': cannot be applied twice");
  EXPECT_EQ(error_of([&] { run(q, table, "only,only"); }), "pass 'only': cannot be applied twice");
  r.applied.clear();  // optimise, profile, optimise again
  run(r, table, "only");
}

TEST(Passes, TheTableIsChecked) {
  PassTable unknown = dummies();
  unknown.add(make_pass({.name = "fourth", .doc = "", .needs = {"fifth"}}, nothing));
  EXPECT_EQ(error_of([&] { unknown.validate(); }),
            "pass table: 'fourth' names the unknown pass 'fifth'");
  PassTable cycle = dummies();
  cycle.add(make_pass({.name = "a", .doc = "", .after = {"b"}}, nothing));
  cycle.add(make_pass({.name = "b", .doc = "", .needs = {"c"}}, nothing));
  cycle.add(make_pass({.name = "c", .doc = "", .after = {"a"}}, nothing));
  EXPECT_EQ(error_of([&] { cycle.validate(); }), "pass table: no order satisfies a -> b -> c -> a");
  PassTable twice = dummies();
  EXPECT_THROW(twice.add(make_pass({.name = "first", .doc = ""}, nothing)), Error);
  EXPECT_THROW(twice.add(Pass{{.name = "empty", .doc = ""}}), Error);
}

TEST(Passes, ListsAreParsed) {
  PassTable table = dummies();
  table.add_word("word", "both", {{"first", "a"}, {"only:k=1", "b"}});
  EXPECT_TRUE(table.parse("none").empty());
  EXPECT_TRUE(table.parse("").empty());
  EXPECT_EQ(table.parse("none,first").size(), 1u);
  EXPECT_EQ(table.parse("third:a=1:b=x+y"),
            (std::vector<PassCall>{{"third", {{"a", "1"}, {"b", "x+y"}}}}));
  EXPECT_EQ(table.parse("word,third").size(), 3u);
  // A once-only pass behind a word that holds it: its options go to that step, without any it is
  // dropped.
  EXPECT_EQ(table.parse("word,only:k=2"),
            (std::vector<PassCall>{{"first", {}}, {"only", {{"k", "2"}}}}));
  std::vector<Remark> remarks;
  EXPECT_EQ(table.parse("word,only", &remarks).size(), 2u);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].where, "only");
  remarks.clear();  // a word brings it a second time
  EXPECT_EQ(table.parse("word,word", &remarks).size(), 3u);
  EXPECT_EQ(table.parse("only:k=3,word", &remarks),
            (std::vector<PassCall>{{"only", {{"k", "3"}}}, {"first", {}}}));
  EXPECT_EQ(remarks.size(), 2u);
  EXPECT_EQ(table.parse("word,only:k=2,only:k=3").size(), 3u);
  EXPECT_EQ(table.parse("word,only,only").size(), 3u);
  EXPECT_EQ(table.parse("only,only").size(), 2u);  // the user's own repetition is an error when run
  EXPECT_EQ(error_of([&] { table.parse("frist"); }), "unknown pass 'frist'; nearest is 'first'");
  EXPECT_EQ(error_of([&] { table.parse("first:x"); }), "pass 'first': found 'x', wanted key=value");
  EXPECT_THROW(table.parse("word:k=1"), Error);
  table.add_word("more", "a word and one more", {{"word", "c"}, {"third", "d"}});
  EXPECT_EQ(table.parse("more"), table.parse("word,third"));
}

struct Sample {
  std::int64_t count = 3;
  Bytes cap{25 << 20};
  bool loud = false;
  std::string by = "path";
  std::string of = "all";
};

Sample seen;
void sample_pass(Graph&, const Sample& options) { seen = options; }

TEST(Passes, AnOptionMayChangeBits) {
  PassTable table = standard_passes();
  const Pass& pass = table.find("bucket-collectives");
  EXPECT_EQ(pass.bits_with({}), Bits::same);
  EXPECT_EQ(pass.bits_with({{"cap", "1KiB"}, {"divide", "same"}}), Bits::same);
  EXPECT_EQ(pass.bits_with({{"divide", "after"}}), Bits::changes);
}

TEST(Passes, OptionsFillAStruct) {
  PassTable table;
  table.add(make_pass({.name = "sample", .doc = ""}, sample_pass,
                      {{"count", &Sample::count, "how many"},
                       {"cap", &Sample::cap, "largest"},
                       {"loud", &Sample::loud, "speak up"},
                       {"by", &Sample::by, "what"},
                       {"of", &Sample::of, "whose", {"all", "some", "none"}}}));
  const Pass& row = table.find("sample");
  EXPECT_EQ(row.options[1].fallback, "25MiB");
  EXPECT_EQ(row.options[1].kind, "size");
  EXPECT_EQ(row.options[2].fallback, "false");
  Program p = small();
  run(p, table, "sample:count=7:cap=64KiB:loud=true:by=x");
  EXPECT_EQ(seen.count, 7);
  EXPECT_EQ(seen.cap.count, 65536);
  EXPECT_TRUE(seen.loud);
  EXPECT_EQ(seen.by, "x");
  run(p, table, "sample");
  EXPECT_EQ(seen.count, 3);
  EXPECT_EQ(error_of([&] { run(p, table, "sample:caps=1"); }),
            "pass 'sample': unknown option 'caps'; nearest is 'cap'");
  EXPECT_EQ(
      error_of([&] { run(p, table, "sample:cap=1MB"); }),
      "pass 'sample': option 'cap': found '1MB', wanted a size such as 65536, 64KiB or 25MiB");
  EXPECT_EQ(error_of([&] { run(p, table, "sample:count=x"); }),
            "pass 'sample': option 'count': found 'x', wanted an int");
  EXPECT_EQ(row.options[4].values, (std::vector<std::string>{"all", "some", "none"}));
  run(p, table, "sample:of=some");
  EXPECT_EQ(seen.of, "some");
  EXPECT_EQ(error_of([&] { run(p, table, "sample:of=any"); }),
            "pass 'sample': option 'of': found 'any', wanted all, some or none");
  EXPECT_THROW(run(p, table, "sample:cap=99999999999GiB"), Error);
}

TEST(Passes, AFailingPassIsTakenBack) {
  PassTable table = standard_passes();
  table.add(make_pass({.name = "graph-fails", .doc = ""}, [](Graph& g) {
    g.erase(g.node(g.find("dead")));
    fail("no");
  }));
  table.add(make_program_pass({.name = "program-fails", .doc = ""}, [](Program& p) {
    p.graphs.clear();
    p.applied.clear();
    fail("no");
  }));
  table.add(make_program_pass({.name = "program-breaks", .doc = ""},
                              [](Program& p) { p.graphs.clear(); }));
  Program p = small();
  std::string before = to_text(p);
  EXPECT_EQ(error_of([&] { run(p, table, "graph-fails"); }), "pass 'graph-fails': no");
  EXPECT_EQ(to_text(p), before);
  EXPECT_EQ(error_of([&] { run(p, table, "program-fails"); }), "pass 'program-fails': no");
  EXPECT_EQ(to_text(p), before);
  EXPECT_EQ(error_of([&] { run(p, table, "program-breaks"); }),
            "pass 'program-breaks': left a broken program: no graph for rank 0 [ranks]");
  EXPECT_EQ(to_text(p), before);
  EXPECT_TRUE(p.applied.empty());
  EXPECT_FALSE(p.graphs[0].in_transaction());
}

TEST(Passes, WhatBreaksALoopIsTakenBack) {
  PassTable table = standard_passes();
  testing::add_broken_passes(table);
  Program p = parse(
      R"(graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x", %x_prev: state f32[4] forwarded) {
  %t: f32[4] = tanh(%x_prev) delay=1
  %u: f32[4] = neg(%t) delay=1
  %z: f32[4] = neg(%u)
  next %w = %u
  next %x_prev = %x
  return z=%z
})",
      ops::all(), find_loop_violation);
  std::string before = to_text(p);
  for (bool verify_all : {false, true}) {
    EXPECT_EQ(error_of([&] { run(p, table, "double-neg", {.verify_all = verify_all}); }),
              "pass 'double-neg': left a broken loop: graph step: output z belongs to the "
              "iteration 1 before, wanted 0 [loop]");
    EXPECT_EQ(to_text(p), before);
    EXPECT_TRUE(p.applied.empty());
  }
  // The same pass is accepted where it says that it moves work to other iterations.
  Pass retiming = table.find("double-neg");
  retiming.name = "retiming";
  retiming.retimes = true;
  table.add(retiming);
  run(p, table, "retiming");
  EXPECT_NE(to_text(p), before);
}

TEST(Passes, SkipReportAndRemarks) {
  PassTable table = standard_passes();
  table.add(make_pass({.name = "talk", .doc = ""}, [](Graph& g) {
    g.remark({.where = "%y", .what = "kept", .why = "it is read"});
  }));
  Program p = small();
  auto reports = run_passes(p, table, table.parse("dead-nodes,common-nodes,fold,dead-nodes,talk"),
                            {.skip = {"fold", "common-nodes"}});
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_TRUE(reports[0].changed);
  EXPECT_FALSE(reports[1].changed);
  ASSERT_EQ(reports[2].remarks.size(), 1u);
  EXPECT_EQ(reports[2].remarks[0].pass, "talk");
  EXPECT_THROW(run_passes(p, table, {}, {.skip = {"fald"}}), Error);
}

TEST(Passes, ReadersOfARetypedValueAreVerified) {
  PassTable table = standard_passes();
  table.add(make_pass({.name = "retype", .doc = ""}, [](Graph& g) {
    g.set_type(g.find("x"), {DType::f32, false, {5}});
  }));
  table.add(make_pass({.name = "chatter", .doc = ""}, [](Graph& g) {
    g.remark({.where = "here", .what = "said", .why = ""});
    fail("no");
  }));
  Program p = small();
  EXPECT_EQ(error_of([&] { run(p, table, "retype"); }),
            "pass 'retype': left a broken graph: %dead = exp: type written f32[4], inferred f32[5] "
            "[types]");
  EXPECT_THROW(run(p, table, "chatter"), Error);
  EXPECT_TRUE(run_pass(p, table, {"fold", {}}).remarks.empty());  // what a failed pass said is gone
}

TEST(Passes, DumpsEveryStep) {
  std::string folder = ::testing::TempDir() + "hocket_dump/deep";
  std::filesystem::remove_all(folder);
  Program p = small();
  std::string before = to_text(p);
  PassTable table = standard_passes();
  run(p, table, "fold,dead-nodes", {.after_each = dump_into(folder)});
  EXPECT_EQ(read_file(folder + "/00-before.hkt"), before);
  EXPECT_EQ(read_file(folder + "/01-fold.hkt"), before);
  EXPECT_EQ(read_file(folder + "/02-dead-nodes.hkt"), to_text(p));
}

TEST(Passes, DeadNodesWithAPredicate) {
  Program p = small();
  dead_nodes(p.graphs[0], {.keep = [](const Graph& g, NodeId n) { return g[n].op == &ops::exp; }});
  EXPECT_EQ(p.graphs[0].size(), 2u);
  dead_nodes(p.graphs[0], {});
  EXPECT_EQ(p.graphs[0].size(), 1u);
}

TEST(Compile, UsersAddTheirOwnPasses) {
  CompileOptions options;
  options.table.add(
      make_pass({.name = "mine", .doc = ""}, [](Graph& g) { g.set_path(g.first_node(), "mine"); }));
  options.passes = "mine,default";
  Program p = small();
  CompileReport report = compile(p, options);
  EXPECT_EQ(report.passes.front().pass, "mine");
  EXPECT_EQ(p.graphs[0].size(), 1u);
}

}  // namespace
}  // namespace hocket
