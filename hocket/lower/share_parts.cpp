// Lets transfers of slices run in place:
//
//     %h = all_reduce(slice(%x, 0, 16))     the transfers write where %x lies,
//     %k = all_reduce(slice(%x, 16, 32))    and %y is there when they have ended
//     %y = concat(wait(%h), wait(%k))

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "hocket/lower/sketch.h"

namespace hocket {
namespace {

/// A value that an instruction reads or writes, or has in flight until a later one.
struct Touch {
  const Ref* ref;
  std::uint32_t at, until;
  bool writes;
  StorageNumber in_place;  // of an operand whose bytes the result may take: that result's storage
};

/// A range of bytes, and when it is first written.
struct Written {
  std::int64_t begin, end;
  std::uint32_t at;
  StorageNumber storage;
};

class PartSharing {
 public:
  PartSharing(const ClassContext& context, Sketch& sketch)
      : c_(context), s_(sketch), storages_(sketch.storages) {}

  void run() {
    for (StorageNumber concat : s_.concats) touches_[storages_.find(concat).whole];
    find_operands();
    find_touches();
    std::ranges::sort(found_, {}, &Found::start);
    for (const Found& f : found_) join(f);
  }

 private:
  struct Found {
    std::uint32_t start;  // the first one that writes a part
    StorageNumber concat;
    const Ref* operand;
  };

  Storages::Part place_of(const Ref& r) const {
    Storages::Part p = storages_.find(r.storage);
    return {p.whole, p.offset + r.offset};
  }
  /// {0, 0} without elements.
  std::pair<std::int64_t, std::int64_t> bytes_of(const Ref& r) const {
    auto [low, high] = c_.tables.layout_at(r.layout).bounds();
    if (high < low) return {0, 0};
    std::int64_t size = bytes(c_.tables.type_at(r.type).dtype), at = place_of(r).offset;
    return {at + low * size, at + (high + 1) * size};
  }

  bool is_in_place(const Instruction& i) const {
    return i.kind == InstructionKind::start && i.op->collective->elementwise &&
           s_.transfers[i.index].carried == nullptr;
  }

  /// The transfers that write parts, and the storages that they read.
  void find_operands() {
    std::unordered_map<StorageNumber, bool> known;
    for (std::uint32_t n = 0; n < s_.size(); ++n) {
      const Instruction& i = s_.instructions[n];
      if (!is_in_place(i) || i.results != 1) continue;
      StorageNumber concat = place_of(s_.results(i)[0]).whole;
      if (!touches_.contains(concat) || !known.emplace(concat, true).second) continue;
      found_.push_back({n, concat, s_.operands(i).data()});
    }
    for (const Found& f : found_) touches_[place_of(*f.operand).whole];
  }

  void add(const Touch& t) {
    auto list = touches_.find(place_of(*t.ref).whole);
    if (list != touches_.end()) list->second.push_back(t);
  }

  void find_touches() {
    for (std::uint32_t n = 0; n < s_.size(); ++n) {
      const Instruction& i = s_.instructions[n];
      std::uint32_t until = n;
      if (i.kind == InstructionKind::start) {
        const SketchTransfer& t = s_.transfers[i.index];
        until = t.start == n && t.wait != nowhere ? t.wait : s_.size();
      }
      auto operands = s_.operands(i), results = s_.results(i);
      bool in_place = is_in_place(i);
      for (std::size_t o = 0; o < operands.size(); ++o)
        add({&operands[o], n, until, false,
             in_place && o < results.size() ? results[o].storage : nowhere});
      // What a send returns are its operands.
      if (i.kind == InstructionKind::start && i.op->collective->kind == CollectiveKind::send)
        continue;
      for (const Ref& r : results) add({&r, n, until, true, nowhere});
    }
    for (const SketchNext& n : s_.nexts) add({&n.value, s_.size(), s_.size(), false, nowhere});
  }

  void join(const Found& f) {
    StorageNumber concat = storages_.find(f.concat).whole;
    const Instruction& first = s_.instructions[f.start];
    Storages::Part from = place_of(*f.operand), to = place_of(s_.results(first)[0]);
    std::int64_t offset = from.offset - to.offset;
    if (concat != f.concat || to.whole == from.whole || storages_.region(concat) != nowhere ||
        storages_.region(from.whole) != nowhere || offset < 0 || offset % plan_alignment != 0 ||
        offset + storages_.bytes(concat) > storages_.bytes(from.whole))
      return;
    if (!are_free(from.whole, concat, offset)) return;
    storages_.place(concat, from.whole, offset);
    auto& all = touches_[from.whole];
    auto& more = touches_[concat];
    all.insert(all.end(), more.begin(), more.end());
  }

  /// Whether nobody uses the bytes any more when the concat's parts are written there.
  bool are_free(StorageNumber from, StorageNumber concat, std::int64_t offset) {
    std::vector<Written> written;
    for (const Touch& t : touches_[concat])
      if (auto [begin, end] = bytes_of(*t.ref); t.writes && begin < end)
        written.push_back({begin + offset, end + offset, t.at, t.ref->storage});
    std::ranges::sort(written, {}, &Written::begin);
    std::uint32_t earliest = nowhere;
    for (const Written& w : written) earliest = std::min(earliest, w.at);
    return std::ranges::all_of(touches_[from], [&](const Touch& t) {
      auto [begin, end] = bytes_of(*t.ref);
      if (t.until < earliest || begin >= end) return true;
      // The writes of one storage do not overlap, as each value has bytes of its own.
      auto w = std::ranges::upper_bound(written, begin, {}, &Written::end);
      for (; w != written.end() && w->begin < end; ++w) {
        bool same = t.at == w->at && t.in_place == w->storage && w->begin == begin && w->end == end;
        if (t.until >= w->at && !same) return false;
      }
      return true;
    });
  }

  const ClassContext& c_;
  Sketch& s_;
  Storages& storages_;
  std::vector<Found> found_;
  std::unordered_map<StorageNumber, std::vector<Touch>> touches_;  // by whole storage
};

}  // namespace

void share_parts(const ClassContext& context, Sketch& sketch) {
  if (!sketch.concats.empty()) PartSharing(context, sketch).run();
}

}  // namespace hocket
