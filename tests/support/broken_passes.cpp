#include "support/broken_passes.h"

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket::testing {

void add_broken_passes(PassTable& table) {
  table.add(
      make_pass({.name = "break-order", .doc = "moves the last node to the front"},
                [](Graph& g) { g.move_before(g.preceding(g.return_node()), g.first_node()); }));
  table.add(
      make_pass({.name = "break-types", .doc = "gives the first node another type"}, [](Graph& g) {
        Value v = g.result(g.first_node());
        Type type = g.type(v);
        type.shape.push_back(7);
        g.set_type(v, type);
      }));
  table.add(make_pass({.name = "break-half-way", .doc = "erases what it can, then gives up"},
                      [](Graph& g) {
                        for (NodeId n : g.nodes())
                          if (!g.used(n)) g.erase(n);
                        fail("gave up");
                      }));
  // Correct in a plain graph, but wrong in a loop body, where the inner negation may belong to an
  // earlier iteration because the outer one reads the new value of a state.
  table.add(make_pass({.name = "double-neg", .doc = "replaces neg(neg x) by x"}, [](Graph& g) {
    for (NodeId n : g.nodes()) {
      if (g[n].op != &ops::neg) continue;
      NodeId inner = g.node(g[n].inputs[0]);
      if (g[inner].op == &ops::neg) g.replace_uses(g.result(n), g[inner].inputs[0]);
    }
  }));
}

}  // namespace hocket::testing
