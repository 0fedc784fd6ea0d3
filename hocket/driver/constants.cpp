#include "hocket/driver/constants.h"

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket {
namespace {

template <class F>
void for_each_ref(const Graph& g, const F& f) {
  for (NodeId n : g.nodes()) {
    if (g[n].region) for_each_ref(*g[n].region, f);
    if (const std::string* ref = constant_ref(g[n])) f(g, n, *ref);
  }
}

template <class F>
void for_each_ref(const Program& program, const F& f) {
  for (const Graph& g : program.graphs) for_each_ref(g, f);
}

}  // namespace

void take_constants(Program& program, const ConstantTable& table) {
  for_each_ref(program, [&](const Graph& g, NodeId n, const std::string& ref) {
    auto it = table.find(ref);
    if (it == table.end()) return;
    const Type &found = it->second.type(), &wanted = g.type(g.result(n));
    if (found != wanted)
      fail("constant {} is {}, wanted {} for {}", shown(ref), to_text(found), to_text(wanted),
           g.describe(n));
    program.constants.emplace(*it);
  });
}

ConstantTable used_constants(const Program& program) {
  ConstantTable used;
  for_each_ref(program, [&](const Graph&, NodeId, const std::string& ref) {
    if (auto it = program.constants.find(ref); it != program.constants.end()) used.insert(*it);
  });
  return used;
}

void require_constants(const Program& program, const std::string& looked_in) {
  for_each_ref(program, [&](const Graph& g, NodeId n, const std::string& ref) {
    if (!program.constants.contains(ref))
      fail("{}: no value for the constant {}, wanted in {}", g.describe(n), shown(ref), looked_in);
  });
}

}  // namespace hocket
