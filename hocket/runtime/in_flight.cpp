#include "hocket/runtime/in_flight.h"

#include <algorithm>
#include <deque>

#include "hocket/base/error.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

using comm::Kind;

/// The index in the group of the root or the peer; 0 where there is none.
int peer_of(const Node& node) {
  std::string_view attribute = node.op->collective->peer;
  return attribute.empty() ? 0 : static_cast<int>(node.attr<std::int64_t>(attribute));
}

std::int64_t row_elements(const Type& type) {
  std::int64_t n = 1;
  for (std::size_t i = 1; i < type.shape.size(); ++i) n *= type.shape[i];
  return n;
}

/// The rows that an all_to_all sends to each of `ranks` or receives from it. Equal shares are
/// listed, too, because the rows of a tensor without elements could not be derived from its size.
Ints rows_for_each(const Node& node, std::string_view attribute, const Type& operand, int ranks) {
  const Ints& given = node.attr<Ints>(attribute);
  return given.empty() ? Ints(static_cast<std::size_t>(ranks), operand.shape[0] / ranks) : given;
}

/// Makes the buffers of all members.
void make_buffers(InFlight& flight, Frame& frame) {
  const Graph& g = frame.graph();
  const Node& node = g[flight.node];
  const Collective& collective = *node.op->collective;
  std::vector<bool> last;
  for (Value v : node.inputs) last.push_back(frame.last_reader(v));
  flight.operands = frame.operands(flight.node);
  for (std::uint32_t i = 0; i < node.result_count; ++i) {
    Type type = g.type(g.result(flight.node, i)).ready();
    if (collective.kind == Kind::send)
      flight.results.push_back(flight.operands[i]);
    else if (collective.elementwise && flight.operands[i].unique())
      flight.results.push_back(flight.operands[i]);
    else
      flight.held += flight.results.emplace_back(type).type().bytes();
  }
  for (std::size_t i = 0; i < flight.operands.size(); ++i)
    if (last[i]) flight.held += flight.operands[i].type().bytes();
  frame.hold(flight.held);
}

}  // namespace

bool InFlight::test() {
  if (!done) done = std::ranges::all_of(works, [](comm::Work& w) { return w.test(); });
  return done;
}

void InFlight::wait() {
  for (comm::Work& w : works) w.wait();
  done = true;
}

std::shared_ptr<InFlight> start_transfer(Frame& frame, NodeId n, comm::ProcessGroup& group) {
  const Graph& g = frame.graph();
  const Node& node = g[n];
  Kind kind = node.op->collective->kind;
  auto flight = std::make_shared<InFlight>();
  flight->node = n;
  flight->group = node.attr<std::string>("group");
  make_buffers(*flight, frame);

  std::string name = node.result_count == 0 ? "" : "%" + g.name(g.result(n));
  comm::CollectiveCall call{.kind = kind,
                            .peer = peer_of(node),
                            .channel = node.attr<std::int64_t>("channel"),
                            .name = name};
  if (node.op->collective->reduces) call.reduce = *find_reduce(node.attr<std::string>("reduce"));
  if (kind == Kind::barrier) {
    flight->works.push_back(group.start(call));
    return flight;
  }
  std::vector<comm::Member> members;
  std::deque<Ints> rows;  // of members, until they have started
  // A call has one dtype, so members are split by dtype, in the same way on all ranks.
  std::vector<bool> taken(node.result_count);
  for (std::size_t first = 0; first < taken.size(); ++first) {
    if (taken[first]) continue;
    call.dtype = flight->results[first].type().dtype;
    members.clear();
    for (std::size_t i = first; i < taken.size(); ++i) {
      if (flight->results[i].type().dtype != call.dtype) continue;
      taken[i] = true;
      comm::Member& m = members.emplace_back();
      Tensor& result = flight->results[i];
      m.count = result.type().elements();
      if (kind != Kind::recv) {
        m.send = std::as_const(flight->operands[i]).bytes().data();
        m.count = flight->operands[i].type().elements();
      }
      if (kind != Kind::send) m.recv = result.bytes().data();
      if (kind == Kind::all_to_all) {
        const Type& type = flight->operands[i].type();
        m.send_rows = rows.emplace_back(rows_for_each(node, "send", type, group.size()));
        m.recv_rows = rows.emplace_back(rows_for_each(node, "receive", type, group.size()));
        m.row = row_elements(result.type());
      }
    }
    call.members = members;
    call.same_bucket = !flight->works.empty();
    flight->works.push_back(group.start(call));
  }
  return flight;
}

}  // namespace hocket
