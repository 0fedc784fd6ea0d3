// The order of nodes: a list whose labels make "is a before b" one comparison.

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"

namespace hocket {
namespace {

// Distance between the labels of nodes that are appended one after the other.
constexpr std::uint64_t label_step = std::uint64_t{1} << 32;

}  // namespace

void Graph::require_place(NodeId n, NodeId place) const {
  require(n, "move");
  require(place, "move");
  if (n == return_node() || is_input(n)) internal_fail("move: {} is not a plain node", describe(n));
}

void Graph::move_before(NodeId n, NodeId place) {
  require_place(n, place);
  if (is_input(place)) internal_fail("move: {} cannot stand before an input", describe(n));
  if (n == place || following(n) == place) return;
  ++edits_;
  unlink(n.index);
  link_before(n.index, place.index);
}

void Graph::move_after(NodeId n, NodeId place) {
  require_place(n, place);
  if (place == return_node()) internal_fail("move: {} cannot stand behind the return", describe(n));
  if (n == place || preceding(n) == place) return;
  move_before(n, is_input(place) ? first_node() : following(place));
}

void Graph::unlink(std::uint32_t n) {
  Link link = data_.links[n];
  for (Cursor* c : cursors_) {
    NodeId& at = c->detached ? c->resume : c->current;
    if (at.index != n) continue;
    c->resume = {c->reverse ? link.prev : link.next};
    c->detached = true;
  }
  data_.links.edit(link.prev).next = link.next;
  data_.links.edit(link.next).prev = link.prev;
}

void Graph::link_before(std::uint32_t n, std::uint32_t place) {
  std::uint32_t prev = data_.links[place].prev;
  if (data_.links[place].label - data_.links[prev].label < 2) make_room_after(prev);
  std::uint64_t from = data_.links[prev].label, gap = data_.links[place].label - from;
  data_.links.edit(n) = {prev, place, from + (gap > 2 * label_step ? label_step : gap / 2)};
  data_.links.edit(prev).next = n;
  data_.links.edit(place).prev = n;
}

/// Called when no label is free after a node. Redistributes the labels evenly in the smallest
/// aligned window around it that is sparse enough; larger windows must be sparser. Amortised O(log
/// n) per insertion if all insertions are at one place.
void Graph::make_room_after(std::uint32_t n) {
  if (n == 0)
    n = data_.links[0].next;  // redistributing the labels after the head makes room there, too
  std::uint64_t base = data_.links[n].label;
  std::uint32_t first = n, last = n;
  std::uint64_t count = 1;
  double limit = 1;
  for (int bits = 1; bits < 63; ++bits) {
    std::uint64_t width = std::uint64_t{1} << bits;
    std::uint64_t low = base & ~(width - 1), high = low + (width - 1);
    // The list's head (label 0) keeps its label, and the return node lies above every window.
    while (data_.links[first].prev != 0 && data_.links[data_.links[first].prev].label >= low) {
      first = data_.links[first].prev;
      ++count;
    }
    while (data_.links[data_.links[last].next].label <= high && data_.links[last].next != 0) {
      last = data_.links[last].next;
      ++count;
    }
    limit *= 4.0 / 3.0;
    std::uint64_t step = width / (count + 1);
    if (static_cast<double>(count) > limit || step < 4) continue;
    std::uint64_t label = low;
    for (std::uint32_t at = first;; at = data_.links[at].next) {
      data_.links.edit(at).label = label += step;
      if (at == last) break;
    }
    return;
  }
  internal_fail("graph '{}': no room for another node", data_.name);
}

At after(Graph& g, NodeId n, std::string_view path) {
  return {g, g.is_input(n) ? g.first_node() : g.following(n), path};
}

}  // namespace hocket
