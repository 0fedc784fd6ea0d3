#pragma once
// Applies clean-up passes to regions as well.

#include <utility>

#include "hocket/ir/graph.h"

namespace hocket {

/// Runs `edit` on a copy of every region of `g`, and stores the copy if it was changed.
template <class Edit>
void edit_regions(Graph& g, Edit edit) {
  for (NodeId n : g.nodes()) {
    if (!g[n].region) continue;
    Graph inner = *g[n].region;
    std::uint64_t before = inner.edits();
    edit(inner);
    if (inner.edits() != before) g.set_region(n, std::move(inner));
  }
}

}  // namespace hocket
