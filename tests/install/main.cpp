// A user's program: its own pass beside the standard ones.

#include <hocket/driver/compile.h>
#include <hocket/ir/parse.h>
#include <hocket/ir/print.h>
#include <hocket/ops/ops.h>

#include <cstdio>

int main() {
  using namespace hocket;
  Program program = parse(
      "graph step(%x: f32[4]) {\n  %y: f32[4] = relu(%x)\n  %z: f32[4] = relu(%x)\n  return %y, "
      "%z\n}\n",
      ops::all());
  CompileOptions options;
  options.table.add(make_pass({.name = "label", .doc = "gives every node a path"}, [](Graph& g) {
    for (NodeId n : g.nodes()) g.set_path(n, "mine");
  }));
  options.passes = "default,label";
  compile(program, options);
  std::string expected =
      "graph step(%x: f32[4]) {\n  %y: f32[4] = relu(%x) @\"mine\"\n  return %y, %y\n}\n";
  std::fputs(to_text(program).c_str(), stdout);
  return to_text(program) == expected ? 0 : 1;
}
