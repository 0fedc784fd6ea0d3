#include "hocket/lower/storage.h"

#include <algorithm>

#include "hocket/base/error.h"

namespace hocket {

StorageNumber Storages::add(std::int64_t bytes, std::uint32_t region) {
  all_.push_back({bytes, region});
  return static_cast<StorageNumber>(all_.size() - 1);
}

void Storages::use(StorageNumber s, std::uint32_t instruction) {
  all_[s].own_last = std::max(all_[s].own_last, instruction);
  Storage& whole = all_[find(s).whole];
  whole.first = std::min(whole.first, instruction);
  whole.last = std::max(whole.last, instruction);
}

Storages::Part Storages::find(StorageNumber s) const {
  StorageNumber whole = s;
  std::int64_t offset = 0;
  while (all_[whole].parent != nowhere) {
    offset += all_[whole].offset;
    whole = all_[whole].parent;
  }
  std::int64_t rest = offset;
  while (all_[s].parent != nowhere) {
    StorageNumber parent = all_[s].parent;
    std::int64_t step = all_[s].offset;
    all_[s].parent = whole;
    all_[s].offset = rest;
    rest -= step;
    s = parent;
  }
  return {whole, offset};
}

void Storages::place(StorageNumber part, StorageNumber whole, std::int64_t offset) {
  if (!is_whole(part) || find(whole).whole == part) internal_fail("a storage is placed twice");
  Part at = find(whole);
  Storage &inner = all_[part], &outer = all_[at.whole];
  if (at.offset + offset + inner.bytes > outer.bytes) internal_fail("a storage does not fit");
  inner.parent = at.whole;
  outer.has_parts = true;
  inner.offset = at.offset + offset;
  outer.first = std::min(outer.first, inner.first);
  outer.last = std::max(outer.last, inner.last);
}

}  // namespace hocket
