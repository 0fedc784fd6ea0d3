#pragma once
// Private to sketch*.cpp: emits the instructions of one phase, in the order of its steps.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/lower/result_layouts.h"
#include "hocket/lower/sketch.h"

namespace hocket {

/// Why a part of a value is copied.
inline constexpr std::string_view unaligned = "the part does not lie at a multiple of 64 bytes";

/// Goes through the steps once. Values get storages as they appear; the few facts about later
/// readers that it needs (who wants rows, what leaves the phase) are found before.
class Emitter {
 public:
  Emitter(ClassContext& context, const Graph& phase, Window window, const Steps& steps)
      : c_(context), g_(phase), steps_(steps), refs_(steps.types.size()) {
    sketch_.window = window;
    transfer_.resize(steps.types.size(), nowhere);
    label_of_.resize(phase.node_bound(), nowhere);
    std::size_t regions = context.carries.regions().size();
    sketch_.old_content.resize(regions, nowhere);
    sketch_.new_content.resize(regions, nowhere);
    sketch_.transfers.resize(context.carries.transfers());
    row_major_ = must_be_row_major(phase, steps);
    leaves_.resize(steps.types.size());
    arrived_.resize(steps.types.size());
  }

  Sketch run() {
    add_inputs();
    find_states_to_move();
    for (const Step& s : steps_.steps) {
      move_states_aside(s);
      emit(s);
      for (std::uint32_t i = 0; i < s.result_count; ++i) emit_outputs(s.results + i, s.node);
    }
    finish();
    return std::move(sketch_);
  }

 private:
  // ---- values
  const Type& type(ValueNumber v) const { return *steps_.types[v]; }
  Ref& ref(ValueNumber v) { return refs_[v]; }
  const Layout& layout(const Ref& r) const { return c_.tables.layout_at(r.layout); }
  std::int64_t bytes(const Ref& r) const { return c_.tables.type_at(r.type).bytes(); }

  Ref fresh(const Type& type, std::uint32_t layout) {
    StorageNumber s = sketch_.storages.add(aligned(type.bytes()));
    return {s, 0, c_.tables.type(type), layout};
  }
  Ref fresh(const Type& type) { return fresh(type, c_.tables.row_major(type)); }

  StorageNumber content(std::vector<StorageNumber>& contents, std::uint32_t region) {
    if (contents.size() <= region) contents.resize(c_.carries.regions().size(), nowhere);
    if (contents[region] == nowhere)
      contents[region] = sketch_.storages.add(aligned(c_.carries.regions()[region].bytes), region);
    return contents[region];
  }
  Ref old_ref(RegionPart p, const Type& type) {
    return {content(sketch_.old_content, p.region), p.offset, c_.tables.type(type),
            c_.tables.row_major(type)};
  }
  Ref new_ref(RegionPart p, const Type& type) {
    return {content(sketch_.new_content, p.region), p.offset, c_.tables.type(type),
            c_.tables.row_major(type)};
  }

  // ---- instructions
  std::uint32_t label(NodeId n) {
    if (label_of_[n.index] == nowhere) label_of_[n.index] = c_.labels.of(g_, n);
    return label_of_[n.index];
  }
  /// Where the next instruction will stand.
  std::uint32_t now() const { return sketch_.size(); }
  Instruction& add(Instruction i, std::span<const Ref> operands, std::span<const Ref> results,
                   const Kernel* kernel = nullptr) {
    i.locations = static_cast<std::uint32_t>(sketch_.refs.size());
    i.operands = static_cast<std::uint32_t>(operands.size());
    i.results = static_cast<std::uint32_t>(results.size());
    for (const Ref& r : operands) use(r);
    for (const Ref& r : results) use(r);
    sketch_.refs.insert(sketch_.refs.end(), operands.begin(), operands.end());
    sketch_.refs.insert(sketch_.refs.end(), results.begin(), results.end());
    sketch_.kernels.push_back(kernel);
    return sketch_.instructions.emplace_back(std::move(i));
  }
  void use(const Ref& r) { sketch_.storages.use(r.storage, now()); }
  void copy(const Ref& from, const Ref& to, std::string_view why, std::uint32_t label) {
    add({.kind = InstructionKind::copy, .label = label, .index = c_.tables.reason(why)}, {&from, 1},
        {&to, 1});
  }
  Ref copied(const Ref& from, std::uint32_t layout, std::string_view why, std::uint32_t label) {
    Ref to = fresh(c_.tables.type_at(from.type), layout);
    copy(from, to, why, label);
    return to;
  }

  // ---- what the phase begins with
  void add_inputs();
  void take_up(const Carries::InFlightInput& in, Value v);
  void doubt_shared_states();
  void find_states_to_move();
  void move_states_aside(const Step& s);

  // ---- steps
  void emit(const Step& s);
  bool emit_view(const Step& s);
  bool emit_concat(const Step& s);
  std::optional<Ref> side_by_side(std::span<const ValueNumber> parts, const Type& t);
  std::string_view why_copied(const Ref& part, std::int64_t offset, bool is_last) const;
  void emit_kernel(const Step& s);
  void emit_start(const Step& s);
  void emit_wait(const Step& s);
  std::int64_t total_bytes(const Step& s) const;
  bool is_bucket(std::span<const Ref> values, std::int64_t total) const;
  std::vector<Ref> bucket_operands(const Step& s, std::uint32_t label);
  Ref carried_operand(const Ref& r, RegionPart own, std::uint32_t label);
  void wait_for(std::uint32_t transfer, std::uint32_t label);
  void emit_outputs(ValueNumber v, NodeId n);
  void finish();
  void add_next(const Input& in, PhaseInput at, Value next);
  std::uint16_t lane_of(const std::string& group);

  ClassContext& c_;
  const Graph& g_;
  const Steps& steps_;
  Sketch sketch_;
  std::vector<Ref> refs_;                // by value
  std::vector<std::uint32_t> transfer_;  // by value in flight
  std::vector<char> row_major_;          // by value: a reader wants it so
  std::vector<char> arrived_;            // by value: a wait returns it
  std::vector<std::uint32_t> label_of_;  // by node
  std::vector<PhaseInput> inputs_;       // by input of the phase
  std::map<NodeId, const Carries::InFlightInput*> carried_starts_;
  std::vector<char> leaves_;  // by value: an output or a next value
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> outputs_of_;  // by value
  // By transfer that an earlier phase has started: inputs, and which of its results they are.
  std::unordered_map<std::uint32_t, std::vector<std::pair<Value, std::uint32_t>>> in_flight_of_;
  // By value that replaces a state: states whose old values others take, and the labels of these.
  std::unordered_map<std::uint32_t, std::vector<std::pair<Value, std::uint32_t>>> moved_by_;
  std::unordered_map<std::uint32_t, Ref> aside_;  // by value: what leaves the phase instead
  std::vector<std::size_t> phase_outputs_;        // index in the body, by output of the phase
};

}  // namespace hocket
