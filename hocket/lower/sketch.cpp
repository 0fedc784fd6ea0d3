// Emits the instructions of a phase: inputs, views, kernels, outputs. Transfers:
// sketch_transfers.cpp.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/iter/lags.h"
#include "hocket/lower/emitter.h"
#include "hocket/ops/ops.h"

namespace hocket {

std::uint32_t NodeLabels::of(const Graph& g, NodeId n) {
  std::string name = g[n].result_count == 0 ? "" : "%" + g.name(g.result(n));
  auto number = static_cast<std::uint32_t>(labels_.size());
  if (several_phases_ || name.empty()) {
    std::string key = fmt::format("{} {}", name, g[n].op->name);
    auto [found, fresh] = known_.emplace(std::move(key), number);
    if (!fresh) return found->second;
  }
  labels_.push_back({std::move(name), std::string(g[n].op->name), std::string(g.path(n))});
  return number;
}

std::string NodeLabels::text(std::uint32_t label) const {
  const TraceLabel& l = labels_[label];
  return l.name.empty() ? l.op : fmt::format("{} = {}", l.name, l.op);
}

void Emitter::add_inputs() {
  inputs_ = phase_inputs(c_.body, g_, sketch_.window);
  std::vector<int> lags =
      is_rotated(c_.body) ? output_lags(c_.body) : std::vector<int>(c_.body.outputs().size());
  for (std::size_t i = 0; i < lags.size(); ++i)
    if (sketch_.window.lo <= lags[i] && lags[i] <= sketch_.window.hi) phase_outputs_.push_back(i);
  std::vector<Output> outputs = g_.outputs();
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    outputs_of_[steps_.number(outputs[i].value)].push_back(i);
  }
  for (Value v : g_[g_.return_node()].inputs) leaves_[steps_.number(v)] = 1;

  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& in = g_.inputs()[i];
    const auto* carried = in.state ? c_.carries.in_flight(inputs_[i].input) : nullptr;
    if (carried != nullptr) {
      if (Value next = g_.next(in.value)) carried_starts_.emplace(g_.node(next), carried);
      if (!g_.uses(in.value).empty()) take_up(*carried, in.value);
      continue;
    }
    if (in.state) {
      const RegionPart* region = c_.carries.state(inputs_[i].input, inputs_[i].slot);
      ref(in.value.index) = old_ref(*region, g_.type(in.value));
    } else if (!g_.uses(in.value).empty()) {
      Ref to = ref(in.value.index) = fresh(g_.type(in.value));
      add({.kind = InstructionKind::input,
           .label = label(g_.node(in.value)),
           .index = static_cast<std::uint32_t>(inputs_[i].input)},
          {}, {&to, 1});
    }
  }
  doubt_shared_states();
  for (const Input& in : g_.inputs())
    if (!g_.type(in.value).pending) emit_outputs(in.value.index, g_.node(in.value));
}

/// While a transfer is in flight to the bytes of a state, the state must not be read.
void Emitter::doubt_shared_states() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& in = g_.inputs()[i];
    bool read = in.state && std::ranges::any_of(g_.uses(in.value), [&](Use use) {
                  return use.node != g_.return_node() || g_.next(in.value) != in.value;
                });
    if (!read || g_.type(in.value).pending) continue;
    for (const auto& taken : in_flight_of_) {
      const CarriedCollective& c = *sketch_.transfers[taken.first].carried;
      for (std::size_t m = 0; m < c.members; ++m)
        if (c.result_is_state[m] == inputs_[i].input) c_.doubts.result_not_state.emplace(c.node, m);
    }
  }
}

/// The next value of a state may be what another state begins with, which gets a new value itself:
/// then it moves aside before that is computed. Where all are old values, they move at the end.
void Emitter::find_states_to_move() {
  for (const Input& in : g_.inputs()) {
    Value next = in.state ? g_.next(in.value) : Value{};
    if (!next || next == in.value || g_.type(next).pending || !g_.is_input(g_.node(next))) continue;
    Value replacing = g_.input(next).state ? g_.next(next) : Value{};
    if (replacing && !g_.is_input(g_.node(replacing)))
      moved_by_[steps_.number(replacing)].push_back({next, label(g_.node(in.value))});
  }
}

void Emitter::move_states_aside(const Step& s) {
  for (std::uint32_t i = 0; i < s.result_count; ++i)
    if (auto moved = moved_by_.find(s.results + i); moved != moved_by_.end())
      for (auto [state, label] : moved->second)
        if (!aside_.contains(state.index))
          aside_[state.index] = copied(ref(state.index), ref(state.index).layout,
                                       "a state takes the old value of another", label);
}

void Emitter::emit(const Step& s) {
  if (s.op->is_wait) return emit_wait(s);
  if (s.op->collective != nullptr) return emit_start(s);
  if (s.op == &ops::constant && s.kernel == nullptr && s.result_count == 1 &&
      type(s.results).elements() > 0) {
    const auto& name = attribute<std::string>(*s.op, *s.attributes, "ref");
    ref(s.results) = old_ref(c_.carries.constant(name, type(s.results)), type(s.results));
    return;
  }
  if (s.op->view != nullptr && emit_view(s)) return;
  if (s.op == &ops::concat && emit_concat(s)) return;
  if (s.kernel != nullptr) return emit_kernel(s);
  for (std::uint32_t i = 0; i < s.result_count; ++i) {  // nothing to compute
    ref(s.results + i) = fresh(type(s.results + i));
    sketch_.storages.use(ref(s.results + i).storage, now());
  }
}

/// Whether the result of a view needs no instruction.
bool Emitter::emit_view(const Step& s) {
  ValueNumber operand = steps_.operands(s)[0];
  const Ref& from = ref(operand);
  std::vector<const Type*> types;
  for (ValueNumber v : steps_.operands(s)) types.push_back(&type(v));
  InferCall call{*s.op, types, *s.attributes, g_.world(), {steps_.types[s.results], 1}, nullptr};
  std::optional<ViewOf> view = s.op->view(call, layout(from));
  if (!view) return false;
  std::int64_t offset = from.offset + view->first * hocket::bytes(type(operand).dtype);
  if (row_major_[s.results] != 0 && !view->layout.is_row_major()) return false;
  Ref shown{from.storage, offset, c_.tables.type(type(s.results)), c_.tables.layout(view->layout)};
  bool moves = row_major_[s.results] != 0 && offset % plan_alignment != 0;
  ref(s.results) = moves ? copied(shown, shown.layout, unaligned, label(s.node)) : shown;
  return true;
}

void Emitter::emit_kernel(const Step& s) {
  const Kernel& kernel = *s.kernel;
  std::uint32_t from = label(s.node);
  std::vector<Ref> operands, results;
  auto numbers = steps_.operands(s);
  // A view that is made by a copy reads its first operand only.
  std::size_t count = std::min(numbers.size(), kernel.operands.size());
  for (std::size_t i = 0; i < count; ++i) {
    Ref r = ref(numbers[i]);
    const Port& port = kernel.operands[i];
    if (!port.any && layout(r) != port.layout)
      r = copied(r, c_.tables.layout(port.layout), "layout", from);
    operands.push_back(r);
  }
  std::vector<Layout> given;
  for (const Ref& r : operands) given.push_back(layout(r));
  std::vector<const Type*> operand_types, result_types;
  for (std::size_t i = 0; i < count; ++i) operand_types.push_back(&type(numbers[i]));
  for (std::uint32_t i = 0; i < s.result_count; ++i) result_types.push_back(&type(s.results + i));
  for (std::uint32_t i = 0; i < s.result_count; ++i) {
    const Type& t = type(s.results + i);
    const Port& port = kernel.results[i];
    Layout chosen = port.layout;
    if (port.any)
      chosen = row_major_[s.results + i] != 0 ? Layout::row_major(t.elements())
                                              : result_layout(operand_types, given, t);
    results.push_back(ref(s.results + i) = fresh(t, c_.tables.layout(chosen)));
  }
  for (std::size_t i = 0; i < count && !results.empty(); ++i)
    if (kernel.operands[i].any && !layout(operands[i]).is_row_major() &&
        !can_read(*s.op, type(numbers[i]), layout(operands[i]), layout(results[0])))
      operands[i] = copied(operands[i], c_.tables.row_major(type(numbers[i])), "layout", from);
  add({.kind = InstructionKind::kernel,
       .backend = static_cast<std::uint8_t>(s.by_backend ? 1 : 0),
       .label = from,
       .op = s.op,
       .attributes = *s.attributes,
       .workspace_bytes = kernel.workspace_bytes},
      operands, results, &kernel);
  // Right away, so that the blocks of channels are not kept until somebody wants rows.
  for (std::uint32_t i = 0; i < s.result_count; ++i)
    if (ValueNumber v = s.results + i; row_major_[v] != 0 && !layout(ref(v)).is_row_major())
      ref(v) = copied(ref(v), c_.tables.row_major(type(v)), "layout", from);
}

void Emitter::emit_outputs(ValueNumber v, NodeId n) {
  if (leaves_[v] == 0) return;
  std::uint32_t from = label(n);

  auto outputs = outputs_of_.find(v);
  if (outputs == outputs_of_.end()) return;
  for (std::uint32_t i : outputs->second)
    add({.kind = InstructionKind::output,
         .label = from,
         .index = static_cast<std::uint32_t>(phase_outputs_[i])},
        {&ref(v), 1}, {});
}

void Emitter::finish() {
  for (std::uint32_t number = 0; number < c_.carries.transfers(); ++number) {
    const SketchTransfer& t = sketch_.transfers[number];
    if (t.start != nowhere && t.carried->ends_after == 0)
      wait_for(number, sketch_.instructions[t.start].label);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& in = g_.inputs()[i];
    Value next = in.state ? g_.next(in.value) : Value{};
    if (next && next != in.value) add_next(in, inputs_[i], next);
  }
}

void Emitter::add_next(const Input& in, PhaseInput at, Value next) {
  const RegionPart* region = c_.carries.state(at.input, at.slot);
  if (region == nullptr) return;  // in flight: the start has written it
  ValueNumber number = steps_.number(next);
  if (transfer_[number] != nowhere) wait_for(transfer_[number], label(g_.node(next)));
  auto aside = aside_.find(number);
  sketch_.nexts.push_back({at.input, *region, aside != aside_.end() ? aside->second : ref(number),
                           g_.name(in.value), label(g_.node(in.value))});
}

Sketch sketch_phase(ClassContext& context, const Graph& phase, Window window, const Steps& steps) {
  return Emitter(context, phase, window, steps).run();
}

}  // namespace hocket
