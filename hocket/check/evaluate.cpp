#include "hocket/check/evaluate.h"

#include <algorithm>
#include <cstring>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/ir/tensor.h"
#include "hocket/ops/expand.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/ops.h"

namespace hocket::check {
namespace {

/// Values of so few elements are looked at one by one.
constexpr std::int64_t few = 64;

enum Source : std::uint64_t { fed, start, table, anything };

std::vector<Type> copies(std::span<const Type* const> types) {
  std::vector<Type> all;
  for (const Type* t : types) all.push_back(*t);
  return all;
}

}  // namespace

Evaluator::Evaluator(const Plan& plan) : plan_(plan) {
  for (const Graph& g : plan.program.graphs) ranks_.push_back(hocket::ranks_of(g));
  note_kernels(plan);
}

std::size_t Evaluator::KindHash::operator()(const Kind& k) const {
  return mixed(reinterpret_cast<std::uintptr_t>(std::get<0>(k)) ^
               mixed(std::get<1>(k) * 0x10001ull + std::get<2>(k)));
}

Evaluator::Kind Evaluator::kind_of(const EvaluateCall& call) {
  return {&call.op, values.number_of(call.attributes),
          number_of(call.operand_types, call.result_types)};
}

/// Bits depend on the backend that runs a kind of call; so one backend runs all of a kind. Slices
/// of an elementwise result are of its kind.
void Evaluator::note_kernels(const Plan& plan) {
  std::vector<const Type*> operands, results;
  std::map<DType, Type> elements;
  for (const PlanGraph& g : plan.graphs)
    for (const PlanPhase& phase : g.phases)
      for (const Instruction& i : phase.instructions) {
        if (i.kind != InstructionKind::kernel) continue;
        operands.clear();
        results.clear();
        for (const Location& l : phase.operands(i)) operands.push_back(&plan.types[l.type]);
        for (const Location& l : phase.results(i)) results.push_back(&plan.types[l.type]);
        if (i.op->body != nullptr)
          for (auto* list : {&operands, &results})
            for (const Type*& t : *list)
              t = &elements.try_emplace(t->dtype, Type{t->dtype, false, {}}).first->second;
        auto [known, fresh] =
            backends_.emplace(kind_of({*i.op, i.attributes, operands, results}), i.backend);
        if (!fresh && known->second != i.backend)
          two_backends_ = fmt::format("{} on equal types is run by {} and by {}", i.op->name,
                                      plan.backends[known->second], plan.backends[i.backend]);
      }
}

std::uint64_t Evaluator::number_of(std::span<const Type* const> operands,
                                   std::span<const Type* const> results) {
  std::vector<std::int64_t> key;
  for (auto list : {operands, results}) {
    key.push_back(static_cast<std::int64_t>(list.size()));
    for (const Type* t : list) {
      key.push_back(static_cast<std::int64_t>(t->dtype) * 1000 + t->shape.size());
      key.insert(key.end(), t->shape.begin(), t->shape.end());
    }
  }
  return types_.try_emplace(std::move(key), types_.size()).first->second;
}

std::uint64_t Evaluator::number_of(const std::string& text) {
  return texts_.try_emplace(text, texts_.size()).first->second;
}

std::uint32_t Evaluator::group(std::size_t graph, const std::string& name) {
  auto [it, fresh] = groups_.try_emplace({graph, name});
  if (!fresh) return it->second;
  const std::vector<int>& ranks = ranks_[graph];
  Sets sets;
  bool closed = true;
  for (int r : ranks) {
    std::vector<int> members = plan_.program.world->members(name, r);
    if (members.empty()) members = {r};
    sets.size = members.size();
    sets.index.push_back(
        static_cast<std::uint32_t>(std::ranges::find(members, r) - members.begin()));
    for (int m : members) {
      auto place = std::ranges::lower_bound(ranks, m);
      closed &= place != ranks.end() && *place == m;
      sets.members.push_back(static_cast<std::uint32_t>(place - ranks.begin()));
    }
  }
  if (!closed) sets.members.clear();
  values.groups.push_back(std::move(sets));
  return it->second = static_cast<std::uint32_t>(values.groups.size() - 1);
}

// ---- where values come from

Elements Evaluator::input(std::size_t graph, std::size_t index, const Type& type,
                          std::int64_t iteration) {
  std::uint64_t words[] = {fed, graph, index, static_cast<std::uint64_t>(iteration)};
  TermFacts facts{values.ranks.each(ranks_[graph].size()), type.elements() == 1};
  return values.whole(values.terms.intern(TermKind::source, words, facts), type.elements());
}

Elements Evaluator::state(std::size_t graph, std::size_t index, const Type& type,
                          Partition equal_on) {
  std::uint64_t words[] = {start, graph, index};
  TermFacts facts{equal_on, type.elements() == 1};
  return values.whole(values.terms.intern(TermKind::source, words, facts), type.elements());
}

Elements Evaluator::constant(const std::string& name, const Type& type) {
  const Type* types[] = {&type};
  std::uint64_t words[] = {table, number_of(name), number_of({}, types)};
  TermFacts facts{0, type.elements() == 1};
  return values.whole(values.terms.intern(TermKind::source, words, facts), type.elements());
}

Elements Evaluator::unknown(std::size_t graph, std::size_t index, std::uint32_t group,
                            std::int64_t count) {
  std::uint64_t words[] = {anything, graph, index};
  TermFacts facts{values.one_per_set(group), count == 1};
  return values.whole(values.terms.intern(TermKind::source, words, facts), count);
}

std::string Evaluator::source_text(TermId t) const {
  auto words = values.terms.words(t);
  if (values.terms.kind(t) == TermKind::constant) {
    std::string text = "the constant ";
    visit(static_cast<DType>(words[0]), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T element;
      std::memcpy(&element, &words[1], sizeof element);
      text += fmt::format("{}", load(element));
    });
    return text;
  }
  if (words[0] == table) {
    auto known =
        std::ranges::find(texts_, words[1], &std::pair<const std::string, uint64_t>::second);
    return fmt::format("constant {}", known->first);
  }
  const Graph& g = plan_.exact().graphs[words[1]];
  if (words[0] == anything) {
    const Graph& now = plan_.program.graphs[words[1]];
    return fmt::format("what pads %{}", now.name(now.inputs()[words[2]].value));
  }
  const std::string name = g.name(g.inputs()[words[2]].value);
  return words[0] == fed ? fmt::format("input %{} of iteration {}", name, words[3])
                         : fmt::format("state %{} at the start", name);
}

Elements Evaluator::zero(DType dtype) {
  std::byte bits[16] = {};
  return values.constant(dtype, std::span(bits).first(static_cast<std::size_t>(bytes(dtype))), 1);
}

Elements Evaluator::elements_of(const Tensor& t) {
  Elements out;
  auto width = static_cast<std::size_t>(bytes(t.type().dtype));
  for (std::int64_t i = 0; i < t.type().elements(); ++i)
    values.append(
        out, values.constant(t.type().dtype,
                             t.bytes().subspan(static_cast<std::size_t>(i) * width, width), 1));
  return out;
}

Tensor Evaluator::tensor_of(const Elements& x, const Type& type) {
  Tensor t(type);
  auto width = static_cast<std::size_t>(bytes(type.dtype));
  std::byte* to = t.bytes().data();
  for (const Piece& p : x)
    for (std::int64_t i = 0; i < p.count; ++i, to += width)
      std::memcpy(to, &values.terms.words(p.term)[1], width);
  return t;
}

Elements Evaluator::piece_of(std::uint32_t group, const Elements& whole, const Elements& padding,
                             std::int64_t count) {
  const Sets& sets = values.groups[group];
  Elements padded = whole;
  std::int64_t more = static_cast<std::int64_t>(sets.size) * count - elements_in(whole);
  if (more > 0)
    values.append(padded, elements_in(padding) == 1 ? values.repeated(padding, more) : padding);
  std::vector<std::int64_t> firsts;
  for (std::uint32_t index : sets.index) firsts.push_back(index * count);
  auto [first, offset] = values.ranks.offset(std::move(firsts));
  return values.shifted(padded, first, offset, count);
}

Elements Evaluator::whole_of(std::uint32_t group, const Elements& piece, std::int64_t count) {
  Elements all;
  for (std::size_t m = 0; m < values.groups[group].size; ++m)
    values.append(all, values.moved(group, m, piece));
  return values.range(all, 0, count);
}

// ---- ops

const Expansion* Evaluator::expansion(const EvaluateCall& call) {
  if (call.op.expand == nullptr) return nullptr;
  Kind kind = kind_of(call);
  if (backends_.contains(kind)) return nullptr;
  std::unique_ptr<Expansion>& known = expansions_[kind];
  if (known) return known.get();
  known = std::make_unique<Expansion>();
  known->graph = Graph("expansion", plan_.program.world);
  for (const Type* t : call.operand_types)
    known->parameters.push_back(known->graph.add_input(*t, "x"));
  std::vector<Type> results = copies(call.result_types);
  ExpandCall expand{At(known->graph), call.op, call.attributes, known->parameters, results};
  known->results = call.op.expand(expand);
  return known.get();
}

/// A constant: its attributes hold its value.
bool Evaluator::fixed(const EvaluateCall& call, std::span<Elements> results) {
  if (&call.op != &ops::constant && &call.op != &ops::full) return false;
  const Type& type = *call.result_types[0];
  if (&call.op == &ops::constant) {
    if (const auto& ref = attribute<std::string>(call.op, call.attributes, "ref"); !ref.empty()) {
      results[0] = constant(ref, type);
      return true;
    }
  }
  Type made = &call.op == &ops::full ? Type{type.dtype, false, {}} : type;
  Tensor t = run_reference(call.op, call.attributes, {}, {&made, 1}, World{}).front();
  results[0] = elements_of(t);
  if (&call.op == &ops::full) results[0] = values.repeated(results[0], type.elements());
  return true;
}

/// Ops that only copy elements.
bool Evaluator::movement(const EvaluateCall& call, std::span<const Elements* const> operands,
                         std::span<Elements> results) {
  const Type& type = *call.result_types[0];
  if (call.op.view != nullptr && !operands.empty()) {
    if (call.op.is_view) {  // all elements in their order
      results[0] = *operands[0];
      return true;
    }
    InferCall infer{call.op, call.operand_types, call.attributes, *plan_.program.world, {&type, 1},
                    nullptr};
    auto view = call.op.view(infer, Layout::row_major(call.operand_types[0]->elements()));
    if (!view) internal_fail("check: {} of a row-major value is no view", call.op.name);
    results[0] = values.view(*operands[0], view->first, view->layout);
    return true;
  }
  if (&call.op == &ops::cast && call.operand_types[0]->dtype == type.dtype) {
    results[0] = *operands[0];
    return true;
  }
  if (&call.op == &ops::shard) {
    std::uint32_t g = group(call.graph, attribute<std::string>(call.op, call.attributes, "group"));
    results[0] = piece_of(g, *operands[0], zero(type.dtype), type.elements());
    return true;
  }
  if (&call.op == &ops::concat) {
    auto dim = static_cast<std::size_t>(attribute<std::int64_t>(call.op, call.attributes, "dim"));
    if (!std::all_of(type.shape.begin(), type.shape.begin() + dim,
                     [](std::int64_t d) { return d == 1; }))
      return false;
    for (const Elements* x : operands) values.append(results[0], *x);
    return true;
  }
  if (&call.op == &ops::pad && type.shape.size() == 1) {
    std::int64_t low = attribute<Ints>(call.op, call.attributes, "low")[0],
                 high = attribute<Ints>(call.op, call.attributes, "high")[0];
    if (low < 0 || high < 0) return false;
    if (low > 0) values.append(results[0], values.repeated(*operands[1], low));
    values.append(results[0], *operands[0]);
    if (high > 0) values.append(results[0], values.repeated(*operands[1], high));
    return true;
  }
  return false;
}

/// An op that copies elements, of constants: some constant.
bool Evaluator::of_constants(const EvaluateCall& call, std::span<const Elements* const> operands,
                             std::span<Elements> results) {
  if (!call.op.moves_data || operands.empty() || results.size() != 1) return false;
  const Piece* first = nullptr;
  bool one = true;
  std::int64_t all = 0;
  for (const Elements* x : operands)
    for (const Piece& p : *x) {
      if (!values.is_constant(p)) return false;
      if (first == nullptr) first = &p;
      one &= p.term == first->term;
      all += p.count;
    }
  if (first == nullptr) return false;
  const Type& type = *call.result_types[0];
  if (one && static_cast<DType>(values.terms.words(first->term)[0]) == type.dtype) {
    Piece p = *first;
    p.count = type.elements();
    values.append(results[0], p);
    return true;
  }
  if (type.elements() > few || all > few) return false;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i)
    tensors.push_back(tensor_of(*operands[i], *call.operand_types[i]));
  Type made = type;
  results[0] = elements_of(
      run_reference(call.op, call.attributes, tensors, {&made, 1}, *plan_.program.world).front());
  return true;
}

/// A small concat or pad: where its elements come from is found by numbering them.
bool Evaluator::by_index(const EvaluateCall& call, std::span<const Elements* const> operands,
                         std::span<Elements> results) {
  if ((&call.op != &ops::concat && &call.op != &ops::pad) || call.result_types[0]->elements() > few)
    return false;
  Elements all;
  std::vector<Tensor> tensors;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Tensor& t = tensors.emplace_back(Type{DType::i64, false, call.operand_types[i]->shape});
    for (std::int64_t k = 0; k < t.type().elements(); ++k) t.as<std::int64_t>()[k] = next++;
  }
  if (next > few * 4) return false;
  Type made{DType::i64, false, call.result_types[0]->shape};
  Tensor from = run_reference(call.op, call.attributes, tensors, {&made, 1}, World{}).front();
  for (std::int64_t k = 0; k < made.elements(); ++k) {
    std::int64_t index = std::as_const(from).as<std::int64_t>()[k];
    std::size_t i = 0;
    for (; index >= call.operand_types[i]->elements(); ++i)
      index -= call.operand_types[i]->elements();
    values.append(results[0], values.range(*operands[i], index, 1));
  }
  return true;
}

void Evaluator::kernel(const EvaluateCall& call, std::span<const Elements* const> operands,
                       std::span<Elements> results) {
  std::uint64_t types = number_of(call.operand_types, call.result_types);
  TermFacts facts;
  std::uint64_t where = 0;
  if (call.op.depends_on_rank) {
    std::uint32_t g = group(call.graph, attribute<std::string>(call.op, call.attributes, "group"));
    facts.equal_on = values.ranks.partition(values.groups[g].index);
    where = g + 1;
  }
  for (const Elements* x : operands) {
    TermFacts of = values.facts_of(*x);
    facts.equal_on = values.ranks.meet(facts.equal_on, of.equal_on);
    facts.doubtful |= of.doubtful;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    words_ = {reinterpret_cast<std::uintptr_t>(&call.op), values.number_of(call.attributes), types,
              (where << 32) | i};
    for (const Elements* x : operands) Values::add_words(words_, values.direct(*x));
    facts.single = call.result_types[i]->elements() == 1;
    TermId t = values.terms.intern(TermKind::kernel, words_, facts);
    results[i] = values.whole(t, call.result_types[i]->elements());
  }
}

void Evaluator::apply(const EvaluateCall& call, std::span<const Elements* const> operands,
                      std::span<Elements> results) {
  for (Elements& r : results) r.clear();
  if (std::ranges::all_of(call.result_types, [](const Type* t) { return t->elements() == 0; }))
    return;
  if (fixed(call, results) || movement(call, operands, results) ||
      of_constants(call, operands, results) || by_index(call, operands, results))
    return;
  if (call.op.body == nullptr) return kernel(call, operands, results);
  const Type& type = *call.result_types[0];
  std::vector<Elements> spread(operands.size());
  std::vector<const Elements*> list(operands.begin(), operands.end());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (call.operand_types[i]->shape.empty() && !type.shape.empty()) {
      spread[i] = values.repeated(*operands[i], type.elements());
      list[i] = &spread[i];
    }
  results[0] = values.elementwise(call.op, values.number_of(call.attributes), type.dtype, list,
                                  type.elements());
}

}  // namespace hocket::check
