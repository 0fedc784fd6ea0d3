// Emits the instructions of transfers: starts with their operands, and waits.

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/lower/emitter.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

// Why the operand or the result of a collective is copied, besides its layout.
constexpr std::string_view twice = "the operand is a member of another bucket";
constexpr std::string_view kept = "the operand is state, which has its own bytes";
constexpr std::string_view part = "the operand is a part of a larger value";
constexpr std::string_view read_late = "it is read after the next transfer begins";
constexpr std::string_view joined = "the operand consists of the results of other transfers";
constexpr std::string_view carried_part = "the part has bytes that are kept between phases";
constexpr std::string_view bucket_part = "the part has its place in another bucket or concat";

}  // namespace

/// A transfer that an earlier phase has started.
void Emitter::take_up(const Carries::InFlightInput& in, Value v) {
  const CarriedCollective& collective = *in.collective;
  // An input with fewer slots than its collective reads what was written as long ago as it has
  // slots.
  int slot = (sketch_.window.turn - in.slots) % collective.slots;
  if (slot < 0) slot += collective.slots;
  ref(v.index) = old_ref(collective.result(slot, in.member), g_.type(v).ready());
  if (in.has_arrived()) {
    if (collective.copied_out[in.member] != 0)
      ref(v.index) = copied(ref(v.index), ref(v.index).layout, read_late, label(g_.node(v)));
    return;
  }
  std::uint32_t number = collective.first_transfer + static_cast<std::uint32_t>(slot);
  SketchTransfer& t = sketch_.transfers[number];
  t.carried = &collective;
  t.slot = slot;
  transfer_[v.index] = number;
  in_flight_of_[number].emplace_back(v, in.member);
}

std::uint16_t Emitter::lane_of(const std::string& group) {
  auto found = std::ranges::find(c_.groups, group);
  if (found == c_.groups.end()) found = c_.groups.insert(found, group);
  return static_cast<std::uint16_t>(found - c_.groups.begin() + 1);
}

std::int64_t Emitter::total_bytes(const Step& s) const {
  std::int64_t total = 0;
  for (std::uint32_t i = 0; i < s.result_count; ++i)
    total += aligned(type(s.results + i).ready().bytes());
  return total;
}

/// Whether values lie side by side in a storage, and fill it.
bool Emitter::is_bucket(std::span<const Ref> values, std::int64_t total) const {
  StorageNumber whole = sketch_.storages.find(values[0].storage).whole;
  if (sketch_.storages.region(whole) != nowhere || sketch_.storages.bytes(whole) != total)
    return false;
  std::int64_t offset = 0;
  for (const Ref& r : values) {
    Storages::Part at = sketch_.storages.find(r.storage);
    if (at.whole != whole || at.offset + r.offset != offset) return false;
    offset += aligned(bytes(r));
  }
  return true;
}

/// The operands of a collective; those of a bucket lie side by side.
std::vector<Ref> Emitter::bucket_operands(const Step& s, std::uint32_t from) {
  std::vector<Ref> operands;
  for (ValueNumber v : steps_.operands(s)) {
    Ref r = ref(v);
    if (!layout(r).is_row_major()) r = copied(r, c_.tables.row_major(type(v)), "layout", from);
    operands.push_back(r);
  }
  if (!s.op->collective->elementwise || operands.size() < 2) return operands;
  std::int64_t total = 0;
  for (const Ref& r : operands) total += aligned(bytes(r));
  if (is_bucket(operands, total)) return operands;  // the results of another bucket
  StorageNumber bucket = sketch_.storages.add(total);
  std::int64_t offset = 0;
  Storages& storages = sketch_.storages;
  for (Ref& r : operands) {
    std::string_view why;
    if (storages.region(storages.find(r.storage).whole) != nowhere)
      why = kept;
    else if (r.offset != 0 || storages.bytes(r.storage) != aligned(bytes(r)))
      why = part;
    else if (!storages.is_whole(r.storage))
      why = twice;
    if (!why.empty()) r = copied(r, r.layout, why, from);
    storages.place(r.storage, bucket, offset);
    offset += aligned(bytes(r));
  }
  return operands;
}

void Emitter::emit_start(const Step& s) {
  std::uint32_t from = label(s.node);
  const Collective& facts = *s.op->collective;
  auto carried = carried_starts_.find(s.node);
  const CarriedCollective* kept_by = nullptr;
  auto number = static_cast<std::uint32_t>(sketch_.transfers.size());
  int slot = 0;
  if (carried != carried_starts_.end()) {
    kept_by = carried->second->collective;
    slot = sketch_.window.turn % kept_by->slots;
    number = kept_by->first_transfer + static_cast<std::uint32_t>(slot);
    // The transfer before it in these bytes must have ended.
    if (in_flight_of_.contains(number)) wait_for(number, from);
  } else {
    sketch_.transfers.emplace_back();
  }
  std::vector<Ref> operands, results;
  if (kept_by == nullptr) {
    operands = bucket_operands(s, from);
  } else {
    auto numbers = steps_.operands(s);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Ref& r = ref(numbers[i]);
      // The next value of a state will lie where the state does: see share_storage.
      bool as_it_is = kept_by->operand_is_state[i] != 0 && layout(r).is_row_major();
      operands.push_back(as_it_is ? r : carried_operand(r, kept_by->operand(slot, i), from));
    }
  }
  bool bucket = kept_by == nullptr && facts.elementwise && s.result_count > 1;
  StorageNumber together = bucket ? sketch_.storages.add(total_bytes(s)) : nowhere;
  std::int64_t offset = 0;
  for (std::uint32_t i = 0; i < s.result_count; ++i) {
    Type t = type(s.results + i).ready();
    Ref r = kept_by != nullptr                   ? new_ref(kept_by->result(slot, i), t)
            : facts.kind == CollectiveKind::send ? operands[i]
                                                 : fresh(t);
    if (bucket) sketch_.storages.place(r.storage, together, offset);
    offset += aligned(t.bytes());
    results.push_back(ref(s.results + i) = r);
    transfer_[s.results + i] = number;
  }
  SketchTransfer& t = sketch_.transfers[number];
  t = {.start = now(), .carried = kept_by, .slot = slot};
  add({.kind = InstructionKind::start,
       .lane = lane_of(attribute<std::string>(*s.op, *s.attributes, "group")),
       .label = from,
       .index = number,
       .op = s.op,
       .attributes = *s.attributes},
      operands, results);
  if (facts.kind == CollectiveKind::barrier) wait_for(number, from);
}

/// An operand whose transfer may end in a later phase has bytes of its own.
Ref Emitter::carried_operand(const Ref& r, RegionPart own, std::uint32_t from) {
  Storages& storages = sketch_.storages;
  StorageNumber old = content(sketch_.old_content, own.region);
  if (r.storage == old && r.offset == own.offset) return r;  // state that is sent as it is
  Ref to{content(sketch_.new_content, own.region), own.offset, r.type,
         c_.tables.row_major(c_.tables.type_at(r.type))};
  Storages::Part at = storages.find(r.storage);
  if (at.whole == to.storage && at.offset + r.offset == own.offset) return r;
  std::string_view why;
  if (!layout(r).is_row_major())
    why = "layout";
  else if (storages.region(at.whole) != nowhere)
    why = kept;
  else if (at.whole != r.storage)
    why = twice;
  else if (storages.has_parts(r.storage))  // whose readers own_last does not know
    why = joined;
  else if (r.offset != 0 || storages.bytes(r.storage) != aligned(bytes(r)))
    why = part;
  else if (storages.first(old) != nowhere && storages.last(old) >= storages.first(r.storage))
    why = "the transfer before it still uses its bytes when the operand is computed";
  if (why.empty()) {
    storages.place(r.storage, to.storage, own.offset);
    return r;
  }
  copy(r, to, why, from);
  return to;
}

void Emitter::emit_wait(const Step& s) {
  auto numbers = steps_.operands(s);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    if (transfer_[numbers[i]] != nowhere) wait_for(transfer_[numbers[i]], label(s.node));
    ref(s.results + i) = ref(numbers[i]);
    arrived_[s.results + i] = 1;
  }
}

/// Why a part cannot lie at this offset of a concat.
std::string_view Emitter::why_copied(const Ref& part, std::int64_t offset, bool is_last) const {
  const Storages& storages = sketch_.storages;
  if (storages.region(storages.find(part.storage).whole) != nowhere) return carried_part;
  if (!storages.is_whole(part.storage) || part.offset != 0 ||
      storages.bytes(part.storage) != aligned(bytes(part)))
    return bucket_part;
  if (offset % plan_alignment != 0 || (!is_last && bytes(part) % plan_alignment != 0))
    return unaligned;
  return {};
}

/// The concat of parts which another concat has put side by side.
std::optional<Ref> Emitter::side_by_side(std::span<const ValueNumber> parts, const Type& t) {
  Storages::Part first = sketch_.storages.find(ref(parts[0]).storage);
  first.offset += ref(parts[0]).offset;
  if (sketch_.storages.region(first.whole) != nowhere || first.offset % plan_alignment != 0)
    return std::nullopt;
  std::int64_t offset = first.offset;
  for (ValueNumber v : parts) {
    Storages::Part at = sketch_.storages.find(ref(v).storage);
    if (at.whole != first.whole || at.offset + ref(v).offset != offset) return std::nullopt;
    offset += bytes(ref(v));
  }
  return Ref{first.whole, first.offset, c_.tables.type(t), c_.tables.row_major(t)};
}

/// Results of transfers that are ranges of the concat's bytes arrive there. So nothing is left to
/// do, but for those that have another place.
bool Emitter::emit_concat(const Step& s) {
  auto numbers = steps_.operands(s);
  const Type& t = type(s.results);
  auto dim = static_cast<std::uint32_t>(attribute<std::int64_t>(*s.op, *s.attributes, "dim"));
  bool ranges = std::ranges::all_of(
      numbers, [&](ValueNumber v) { return arrived_[v] != 0 && layout(ref(v)).is_row_major(); });
  for (std::uint32_t d = 0; d < dim; ++d) ranges = ranges && t.shape[d] == 1;
  if (!ranges || s.kernel == nullptr) return false;
  if (std::optional<Ref> there = side_by_side(numbers, t)) {
    ref(s.results) = *there;
    return true;
  }
  Ref whole = ref(s.results) = fresh(t);
  std::int64_t offset = 0;
  for (ValueNumber v : numbers) {
    const Ref& part = ref(v);
    std::int64_t end = offset + bytes(part);
    if (end == offset) continue;
    std::string_view why = why_copied(part, offset, end == t.bytes());
    if (why.empty())
      sketch_.storages.place(part.storage, whole.storage, offset);
    else
      copy(part, {whole.storage, offset, part.type, part.layout}, why, label(s.node));
    offset = end;
  }
  sketch_.concats.push_back(whole.storage);
  return true;
}

void Emitter::wait_for(std::uint32_t number, std::uint32_t from) {
  SketchTransfer& t = sketch_.transfers[number];
  if (t.wait != nowhere) return;
  t.wait = now();
  if (t.start == nowhere)  // until here its bytes hold what an earlier phase has put there
    for (std::size_t i = 0; i < t.carried->members; ++i)
      for (RegionPart p : {t.carried->operand(t.slot, i), t.carried->result(t.slot, i)})
        sketch_.storages.use(content(sketch_.old_content, p.region), now());
  bool begun_before = t.start == nowhere;
  const CarriedCollective* carried = t.carried;
  add({.kind = InstructionKind::wait, .label = from, .index = number}, {}, {});
  if (!begun_before) return;
  for (auto [v, member] : in_flight_of_[number]) {
    transfer_[v.index] = nowhere;  // the next transfer may get the number
    if (carried->copied_out[member] != 0)
      ref(v.index) = copied(ref(v.index), ref(v.index).layout, read_late, from);
  }
}

}  // namespace hocket
