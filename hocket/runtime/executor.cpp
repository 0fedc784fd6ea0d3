#include "hocket/runtime/executor.h"

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/iter/lags.h"

namespace hocket {
namespace {

template <class Wanted>
void require_table(const Program& program, std::span<const int> ranks, const InputTables& table,
                   std::string_view what, Wanted wanted) {
  if (table.size() != ranks.size())
    fail("{} for {}, wanted {}", what, count_of(std::ssize(table), "rank"), ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Graph& g = program.graph_of(ranks[r]);
    auto inputs = g.inputs();
    if (table[r].size() > inputs.size())
      fail("rank {}: {} of {}, wanted at most {}", ranks[r], what,
           count_of(std::ssize(table[r]), "input"), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Value v = inputs[i].value;
      if (!wanted(g, inputs[i])) continue;
      if (i >= table[r].size() || !table[r][i])
        fail("rank {}: input %{} is missing, wanted {}", ranks[r], g.name(v), to_text(g.type(v)));
      if (table[r][i].type() != g.type(v))
        fail("rank {}: input %{} is {}, wanted {}", ranks[r], g.name(v),
             to_text(table[r][i].type()), to_text(g.type(v)));
    }
  }
}

}  // namespace

void require_batch(const Program& program, std::span<const int> ranks, const InputTables& table) {
  require_table(program, ranks, table, "a batch",
                [](const Graph&, const Input& in) { return !in.state; });
}

void require_state(const Program& program, std::span<const int> ranks, const InputTables& table) {
  require_table(program, ranks, table, "state", [](const Graph& g, const Input& in) {
    return in.state && !is_forwarded(g, in.value);
  });
}

std::string numerics_of(const Backend* backend) {
  return backend != nullptr ? backend->numerics() : "reference: plain kernels";
}

}  // namespace hocket
