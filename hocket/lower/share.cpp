// Decides which values share bytes:
//
//     %u = sub(%w, %d)          %u takes the bytes of state %w: next %w = %u
//     %y = relu(%x)             %y takes the bytes of %x, which has no later reader
//     %h = all_reduce(%g)       the same, while the transfer is in flight

#include <algorithm>
#include <map>
#include <utility>

#include "hocket/lower/sketch.h"

namespace hocket {
namespace {

class Sharing {
 public:
  Sharing(ClassContext& context, Sketch& sketch)
      : c_(context), s_(sketch), storages_(sketch.storages) {}

  void run() {
    for (const SketchNext& n : s_.nexts)  // what comes next is read at the end
      if (!is_there(n)) storages_.use(n.value.storage, s_.size());
    share_parts(c_, s_);
    // In the order of starts: what an earlier transfer still reads, a later one must not overwrite.
    std::vector<SketchTransfer*> transfers;
    for (SketchTransfer& t : s_.transfers) transfers.push_back(&t);
    std::ranges::stable_sort(transfers, {}, &SketchTransfer::start);
    for (SketchTransfer* t : transfers) settle(*t);
    std::vector<const SketchNext*> late = place_nexts();
    copy_nexts(late);
    for (std::uint32_t i = 0; i < s_.size(); ++i) overwrite_operands(i);
    for (StorageNumber s : s_.new_content)
      if (s != nowhere) storages_.use(s, s_.size());
    for (const SketchTransfer& t : s_.transfers) require_apart(t);
  }

 private:
  std::int64_t bytes(const Ref& r) const { return aligned(c_.tables.type_at(r.type).bytes()); }
  Storages::Part whole(const Ref& r) const {
    Storages::Part p = storages_.find(r.storage);
    return {p.whole, p.offset + r.offset};
  }
  bool in_region(StorageNumber whole) const { return storages_.region(whole) != nowhere; }

  /// The bytes of a transfer are in use until its wait, or the end of the phase.
  void settle(SketchTransfer& t) {
    if (t.start == nowhere) return;
    const Instruction& start = s_.instructions[t.start];
    std::uint32_t until = t.wait != nowhere ? t.wait : s_.size();
    const Collective& facts = *start.op->collective;
    for (const Ref& r : s_.results(start)) storages_.use(r.storage, until);
    if (t.carried == nullptr && facts.elementwise && start.results > 0) join(start, t.start);
    for (const Ref& r : s_.operands(start)) {
      // The result of a carried collective has taken its bytes already.
      if (t.carried != nullptr && t.carried->in_place && facts.elementwise &&
          storages_.own_last(r.storage) > t.start && storages_.find(r.storage).whole != r.storage)
        c_.doubts.operands_apart.insert(t.carried->node);
      storages_.use(r.storage, until);
    }
  }

  /// Makes a collective work in place, unless an operand is read after its start. The operands of a
  /// bucket lie side by side, and so do its results.
  bool join(const Instruction& start, std::uint32_t at) {
    auto operands = s_.operands(start), results = s_.results(start);
    Storages::Part from = whole(operands[0]), to = whole(results[0]);
    bool free = to.offset == 0 && !in_region(to.whole) && !in_region(from.whole) &&
                storages_.last(from.whole) == at && storages_.first(to.whole) == at &&
                from.offset % plan_alignment == 0 &&
                from.offset + storages_.bytes(to.whole) <= storages_.bytes(from.whole);
    for (std::size_t i = 0; free && i < operands.size(); ++i) {
      Storages::Part o = whole(operands[i]), r = whole(results[i]);
      free = o.whole == from.whole && r.whole == to.whole && o.offset - from.offset == r.offset;
    }
    if (from.whole == to.whole) return false;
    if (!free) return join_part(operands, results, at);
    storages_.place(to.whole, from.whole, from.offset);
    return true;
  }

  /// Where the result has its place in a concat, the operand may be made there.
  bool join_part(std::span<const Ref> operands, std::span<const Ref> results, std::uint32_t at) {
    Storages::Part from = whole(operands[0]), to = whole(results[0]);
    if (operands.size() != 1 || !std::ranges::binary_search(s_.concats, to.whole) ||
        from.offset != 0 || in_region(from.whole) || storages_.last(from.whole) != at ||
        storages_.bytes(from.whole) != bytes(results[0]))
      return false;
    storages_.place(from.whole, to.whole, to.offset);
    return true;
  }

  /// True when the instruction may write this result on the bytes that it reads from `storage`.
  bool may_overwrite(std::uint32_t at, const Ref& result, StorageNumber storage) const {
    const Instruction& i = s_.instructions[at];
    const Kernel* kernel = s_.kernels[at];
    if (kernel == nullptr) return false;
    auto operands = s_.operands(i), results = s_.results(i);
    auto index = static_cast<std::size_t>(
        std::ranges::find(results, result.storage, &Ref::storage) - results.begin());
    for (std::size_t o = 0; o < operands.size(); ++o) {
      Storages::Part p = whole(operands[o]);
      if (p.whole != storage) continue;
      const auto& allowed = kernel->may_overwrite[index];
      bool same = p.offset == 0 && operands[o].type == result.type &&
                  operands[o].layout == result.layout &&
                  std::ranges::find(allowed, static_cast<std::uint32_t>(o)) != allowed.end();
      if (!same) return false;
    }
    return true;
  }

  /// Writes next values straight to the bytes of their states; returns those for which that is not
  /// possible.
  std::vector<const SketchNext*> place_nexts() {
    std::vector<const SketchNext*> late;
    for (const SketchNext& n : s_.nexts)
      if (!place(n)) late.push_back(&n);
    return late;
  }

  /// A transfer, or another state, has put the value where the state lies.
  bool is_there(const SketchNext& n) const {
    Storages::Part at = whole(n.value);
    return storages_.region(at.whole) == n.region.region && at.offset == n.region.offset;
  }

  bool place(const SketchNext& n) {
    if (is_there(n)) return true;
    Storages::Part at = whole(n.value);
    StorageNumber& fresh = s_.new_content[n.region.region];
    if (fresh != nowhere || in_region(at.whole) || at.offset != 0 ||
        storages_.bytes(at.whole) != bytes(n.value))
      return false;
    if (!comes_behind(at.whole, s_.old_content[n.region.region])) return false;
    fresh = storages_.add(storages_.bytes(at.whole), n.region.region);
    storages_.place(at.whole, fresh, n.region.offset);
    storages_.use(fresh, s_.size());
    return true;
  }

  /// Whether a storage is first used when the old content of a region is dead, or overwrites it.
  bool comes_behind(StorageNumber s, StorageNumber old) const {
    if (old == nowhere || storages_.first(old) == nowhere) return true;
    std::uint32_t first = storages_.first(s), last = storages_.last(old);
    return last < first || (last == first && writes_over(first, s, old));
  }

  bool writes_over(std::uint32_t at, StorageNumber written, StorageNumber read) const {
    for (const Ref& r : s_.results(s_.instructions[at]))
      if (whole(r).whole == written && !may_overwrite(at, r, read)) return false;
    return true;
  }

  /// Copies next values to their states, each before the old value of its own source is
  /// overwritten; one of those that wait for each other in a circle moves aside.
  void copy_nexts(std::span<const SketchNext* const> late) {
    std::map<std::uint32_t, std::vector<std::size_t>> readers;  // by region: copies from old values
    std::map<std::uint32_t, std::vector<std::size_t>> writers;
    std::vector<Ref> sources;
    for (std::size_t i = 0; i < late.size(); ++i) {
      sources.push_back(late[i]->value);
      writers[late[i]->region.region].push_back(i);
      if (std::uint32_t r = old_region(sources[i]); r != nowhere) readers[r].push_back(i);
    }
    std::vector<char> done(late.size());
    std::vector<std::size_t> ready;
    auto ready_to = [&](std::uint32_t region) {
      if (auto found = writers.find(region); found != writers.end() && readers[region].empty())
        ready.insert(ready.end(), found->second.rbegin(), found->second.rend());
    };
    for (std::size_t i = late.size(); i-- > 0;)
      if (readers[late[i]->region.region].empty()) ready.push_back(i);
    auto read = [&](std::size_t i, std::uint32_t region) {
      if (region == nowhere) return;
      std::erase(readers[region], i);
      ready_to(region);
    };
    for (std::size_t next = 0; next < late.size();) {
      if (ready.empty() && done[next] == 0) {
        std::uint32_t region = late[next]->region.region;
        for (std::size_t i : std::vector(readers[region])) {
          Ref aside{storages_.add(bytes(sources[i])), 0, sources[i].type, sources[i].layout};
          copy(sources[i], aside, late[i]->label);
          sources[i] = aside;
          read(i, region);
        }
      }
      if (ready.empty()) {
        ++next;
        continue;
      }
      std::size_t i = ready.back();
      ready.pop_back();
      if (std::exchange(done[i], 1) != 0) continue;
      std::uint32_t from = old_region(sources[i]);
      copy_next(*late[i], sources[i]);
      read(i, from);
    }
  }

  /// The region that holds this value when the phase begins; nowhere for other values.
  std::uint32_t old_region(const Ref& r) const {
    StorageNumber w = whole(r).whole;
    return in_region(w) && s_.old_content[storages_.region(w)] == w ? storages_.region(w) : nowhere;
  }

  void copy_next(const SketchNext& n, const Ref& from) {
    StorageNumber& fresh = s_.new_content[n.region.region];
    if (fresh == nowhere) fresh = storages_.add(bytes(n.value), n.region.region);
    copy(from,
         {fresh, n.region.offset, n.value.type,
          c_.tables.row_major(c_.tables.type_at(n.value.type))},
         n.label);
    if (c_.remarks != nullptr)
      c_.remarks->push_back({.where = "%" + n.name,
                             .what = "needs a second buffer",
                             .why = "its old value is read after the new one is computed",
                             .pass = "lower"});
  }

  void copy(const Ref& from, const Ref& to, std::uint32_t label) {
    Instruction i{.kind = InstructionKind::copy,
                  .label = label,
                  .locations = static_cast<std::uint32_t>(s_.refs.size()),
                  .operands = 1,
                  .results = 1,
                  .index = c_.tables.reason("the old value of the state is still needed")};
    storages_.use(from.storage, s_.size());
    storages_.use(to.storage, s_.size());
    s_.refs.push_back(from);
    s_.refs.push_back(to);
    s_.kernels.push_back(nullptr);
    s_.instructions.push_back(std::move(i));
  }

  /// Results take the bytes of operands that are read for the last time.
  void overwrite_operands(std::uint32_t at) {
    const Kernel* kernel = s_.kernels[at];
    if (kernel == nullptr) return;
    const Instruction& i = s_.instructions[at];
    auto operands = s_.operands(i), results = s_.results(i);
    for (std::size_t r = 0; r < results.size(); ++r)
      for (std::uint32_t o : kernel->may_overwrite[r])
        if (o < operands.size() && take_over(operands[o], results[r], at)) break;
  }

  bool take_over(const Ref& operand, const Ref& result, std::uint32_t at) {
    Storages::Part from = whole(operand), to = whole(result);
    if (from.whole == to.whole || operand.type != result.type || operand.layout != result.layout ||
        in_region(from.whole) || storages_.last(from.whole) != at ||
        !may_take(at, operand, result, from))
      return false;
    if (to.offset == 0 && storages_.bytes(to.whole) == bytes(result) && !in_region(to.whole)) {
      // A small part would keep all of a large storage in use.
      if (from.offset % plan_alignment != 0 ||
          from.offset + bytes(result) > storages_.bytes(from.whole) ||
          4 * bytes(result) <= storages_.bytes(from.whole))
        return false;
      storages_.place(to.whole, from.whole, from.offset);
      return true;
    }
    // The result has a place already: the operand may move there, if it is all of its storage.
    if (from.offset != 0 || storages_.bytes(from.whole) != bytes(operand) || !in_region(to.whole))
      return false;
    if (!comes_behind(from.whole, s_.old_content[storages_.region(to.whole)])) return false;
    storages_.place(from.whole, to.whole, to.offset);
    return true;
  }

  /// No other operand, and no other result, uses the bytes in the same instruction in another way.
  bool may_take(std::uint32_t at, const Ref& operand, const Ref& result,
                Storages::Part from) const {
    const Instruction& i = s_.instructions[at];
    for (const Ref& r : s_.results(i))
      if (r.storage != result.storage && whole(r).whole == from.whole) return false;
    const auto& allowed =
        s_.kernels[at]->may_overwrite[static_cast<std::size_t>(&result - s_.results(i).data())];
    auto operands = s_.operands(i);
    for (std::size_t o = 0; o < operands.size(); ++o) {
      Storages::Part p = whole(operands[o]);
      if (p.whole != from.whole) continue;
      bool overlaps =
          p.offset < from.offset + bytes(operand) && from.offset < p.offset + bytes(operands[o]);
      bool same = p.offset == from.offset && operands[o].type == operand.type &&
                  operands[o].layout == operand.layout &&
                  std::ranges::find(allowed, static_cast<std::uint32_t>(o)) != allowed.end();
      if (overlaps && !same) return false;
    }
    return true;
  }

  /// What a transfer of an earlier phase leaves in its bytes is used before this phase writes
  /// there.
  void require_apart(const SketchTransfer& t) {
    if (t.carried == nullptr) return;
    auto meets = [&](RegionPart p) {
      StorageNumber old = s_.old_content[p.region], fresh = s_.new_content[p.region];
      return old != nowhere && fresh != nowhere && storages_.first(old) != nowhere &&
             storages_.last(old) >= storages_.first(fresh);
    };
    const CarriedCollective& c = *t.carried;
    for (std::size_t i = 0; i < c.members; ++i) {
      if (meets(c.result(t.slot, i)))
        (c.result_is_state[i] ? c_.doubts.result_not_state : c_.doubts.copied_out)
            .emplace(c.node, i);
      // Operands that were to lie where a state does.
      if (t.start != nowhere && c.operand_is_state[i] != 0 &&
          storages_.region(whole(s_.operands(s_.instructions[t.start])[i]).whole) !=
              c.operand(t.slot, i).region)
        c_.doubts.operand_not_state.emplace(c.node, i);
    }
  }

  ClassContext& c_;
  Sketch& s_;
  Storages& storages_;
};

}  // namespace

void share_storage(ClassContext& context, Sketch& sketch) { Sharing(context, sketch).run(); }

}  // namespace hocket
