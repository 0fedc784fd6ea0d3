#include "hocket/iter/iter_graph.h"

#include <algorithm>

#include "hocket/base/error.h"

namespace hocket {

IterGraph::IterGraph(const Graph& body) : body_(&body) {
  for (const Input& in : body.inputs()) {
    if (!in.state) {
      fed_.push_back(in.value);
      continue;
    }
    Value next = body.next(in.value);
    if (!next) next = in.value;
    if (body.type(next) != body.type(in.value))
      fail("state %{}: next is {}, wanted {}", body.name(in.value), to_text(body.type(next)),
           to_text(body.type(in.value)));
    carries_.push_back({in.value, next, in.kind, in.names});
  }
}

const Carry* IterGraph::find(std::string_view name) const {
  auto it = std::ranges::find_if(carries_, [&](const Carry& c) {
    return body_->name(c.state) == name || std::ranges::find(c.names, name) != c.names.end();
  });
  return it == carries_.end() ? nullptr : &*it;
}

}  // namespace hocket
