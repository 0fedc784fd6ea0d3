#include "hocket/check/exchange.h"

#include <algorithm>
#include <set>

#include "hocket/base/error.h"

namespace hocket::check {
namespace {

std::int64_t peer_of(const Op& op, const Attributes& a) {
  const Collective& facts = *op.collective;
  return facts.peer.empty() ? -1 : attribute<std::int64_t>(op, a, facts.peer);
}

}  // namespace

Exchange::CallId Exchange::post(std::size_t graph, std::int64_t iteration, const Op& op,
                                const Attributes& attributes, std::vector<Elements> operands,
                                std::vector<const Type*> operand_types,
                                std::vector<const Type*> result_types) {
  auto id = static_cast<CallId>(calls_.size());
  const auto& group = attribute<std::string>(op, attributes, "group");
  auto channel = attribute<std::int64_t>(op, attributes, "channel");
  calls_.push_back({graph,
                    iteration,
                    &op,
                    &attributes,
                    std::move(operands),
                    std::move(operand_types),
                    std::move(result_types),
                    group,
                    channel,
                    false,
                    {}});
  known_[{graph, iteration, group, channel}] = id;
  return id;
}

/// The graphs whose ranks take part.
const std::vector<std::size_t>& Exchange::partners(const Call& call) {
  std::int64_t peer =
      call.op->collective->point_to_point ? peer_of(*call.op, *call.attributes) : -1;
  auto [it, fresh] = partners_.try_emplace({call.graph, call.group, peer});
  if (!fresh) return it->second;
  std::set<std::size_t> graphs{call.graph};
  if (plan_.program.graphs.size() > 1)
    for (int r : e_.ranks_of(call.graph)) {
      std::vector<int> members = plan_.program.world->members(call.group, r);
      if (peer >= 0) members = {members[static_cast<std::size_t>(peer)]};
      for (int m : members) graphs.insert(plan_.program.graph_index(m));
    }
  it->second.assign(graphs.begin(), graphs.end());
  return it->second;
}

const Exchange::Call* Exchange::call_of(const Call& call, std::size_t graph) const {
  auto found = known_.find({graph, call.iteration, call.group, call.channel});
  return found == known_.end() ? nullptr : &calls_[found->second];
}

bool Exchange::arrived(CallId id) {
  const Call& call = calls_[id];
  return call.done || std::ranges::all_of(partners(call), [&](std::size_t g) {
           return call_of(call, g) != nullptr;
         });
}

const std::vector<Elements>& Exchange::results(CallId id) {
  Call& call = calls_[id];
  if (!call.done) {
    call.results.resize(call.result_types.size());
    exchange(call);
    call.done = true;
  }
  return call.results;
}

void Exchange::exchange(Call& call) {
  if (call.op->collective->kind == CollectiveKind::send) {
    call.results = call.operands;
    return;
  }
  const std::vector<std::size_t>& graphs = partners(call);
  if (graphs.size() == 1)
    exchange_in_graph(call);
  else
    exchange_between(call, graphs);
}

void Exchange::exchange_in_graph(Call& call) {
  for (std::size_t i = 0; i < call.results.size(); ++i) exchange_member(call, i);
}

void Exchange::exchange_member(Call& call, std::size_t i) {
  Values& v = e_.values;
  const Collective& facts = *call.op->collective;
  std::uint32_t group = e_.group(call.graph, call.group);
  const Sets& sets = v.groups[group];
  const Elements& x = call.operands[i];
  Elements& out = call.results[i];
  std::int64_t count = call.result_types[i]->elements();
  std::uint64_t reduction = 0;
  if (facts.reduces)
    reduction = e_.number_of(attribute<std::string>(*call.op, *call.attributes, "reduce"));
  switch (facts.kind) {
    case CollectiveKind::all_reduce:
      out = v.reduced(group, reduction, everywhere, x);
      return;
    case CollectiveKind::reduce:
      out = v.reduced(group, reduction, peer_of(*call.op, *call.attributes), x);
      return;
    case CollectiveKind::reduce_scatter:
      out = e_.piece_of(group, v.reduced(group, reduction, everywhere, x), {}, count);
      return;
    case CollectiveKind::broadcast:
      out = v.moved(group, static_cast<std::size_t>(peer_of(*call.op, *call.attributes)), x);
      return;
    case CollectiveKind::all_gather:
      // Pieces of a value that all ranks have are that value again.
      if (std::ranges::any_of(x, [&](const Piece& p) {
            return v.equal_in(group, v.terms.facts(p.term).equal_on);
          })) {
        for (std::size_t m = 0; m < sets.size; ++m) v.append(out, v.moved(group, m, x));
        return;
      }
      break;
    default:
      break;
  }
  std::vector<std::uint64_t> words{reinterpret_cast<std::uintptr_t>(call.op), group, reduction, 0};
  words[3] = static_cast<std::uint64_t>(peer_of(*call.op, *call.attributes));
  if (facts.kind == CollectiveKind::all_to_all) {
    std::string rows;
    for (std::string_view name : {"send", "receive"})
      for (std::int64_t r : attribute<Ints>(*call.op, *call.attributes, name))
        rows += fmt::format("{},", r);
    const Type* from[] = {call.operand_types[i]};
    const Type* to[] = {call.result_types[i]};
    words[3] = (e_.number_of(rows) << 32) | e_.number_of(from, to);
  }
  Values::add_words(words, v.direct(x));
  TermFacts of = v.facts_of(x);
  TermFacts made{v.ranks.each(sets.ranks()), count == 1, false, of.doubtful};
  // What all ranks of a set get is equal there.
  if (facts.same_on_all) made.equal_on = v.one_per_set(group);
  out = v.whole(v.terms.intern(TermKind::exchanged, words, made), count);
}

/// Ranks of several graphs: a result is made of what all of them give.
void Exchange::exchange_between(Call& call, const std::vector<std::size_t>& graphs) {
  Values& v = e_.values;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    std::string text = fmt::format("{} {} ", call.group, call.graph);
    const Collective& facts = *call.op->collective;
    if (facts.reduces) text += attribute<std::string>(*call.op, *call.attributes, "reduce");
    std::vector<std::uint64_t> words{
        reinterpret_cast<std::uintptr_t>(call.op), 0, 0,
        static_cast<std::uint64_t>(peer_of(*call.op, *call.attributes))};
    bool doubtful = false;
    for (std::size_t g : graphs) {
      const Call& other = *call_of(call, g);
      // A send has one operand, for the one result of its recv.
      if (facts.kind == CollectiveKind::recv && other.op->collective->kind != CollectiveKind::send)
        continue;
      if (facts.kind == CollectiveKind::all_to_all)
        for (std::string_view name : {"send", "receive"}) {
          text += '|';
          for (std::int64_t r : attribute<Ints>(*other.op, *other.attributes, name))
            text += fmt::format("{},", r);
        }
      std::size_t from = facts.kind == CollectiveKind::recv ? 0 : i;
      const Elements x = v.direct(other.operands.at(from));
      text += fmt::format(" {}:{}:{}", g, x.size(), to_text(*other.operand_types.at(from)));
      Values::add_words(words, x);
      doubtful |= v.facts_of(x).doubtful;
    }
    words[1] = e_.number_of(text);
    std::int64_t count = call.result_types[i]->elements();
    TermFacts made{v.ranks.each(e_.ranks_of(call.graph).size()), count == 1, false, doubtful};
    call.results[i] = v.whole(v.terms.intern(TermKind::exchanged, words, made), count);
  }
}

}  // namespace hocket::check
