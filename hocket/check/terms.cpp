#include "hocket/check/terms.h"

#include <algorithm>

#include "hocket/base/hash.h"

namespace hocket::check {

std::int64_t elements_in(const Elements& elements) {
  std::int64_t n = 0;
  for (const Piece& p : elements) n += p.count;
  return n;
}

Terms::Terms() : terms_(1), table_(1 << 12) {}

TermId Terms::intern(TermKind kind, std::span<const std::uint64_t> words, TermFacts facts) {
  std::uint64_t hash = static_cast<std::uint64_t>(kind) + 1;
  for (std::uint64_t w : words) hash = mixed(hash * 31 + w);
  auto short_hash = static_cast<std::uint32_t>(hash >> 32);
  std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at] != 0; at = (at + 1) & mask) {
    const Term& t = terms_[table_[at]];
    if (t.hash == short_hash && t.kind == kind && t.size == words.size() &&
        std::equal(words.begin(), words.end(),
                   words_.begin() + static_cast<std::ptrdiff_t>(t.from)))
      return table_[at];
  }
  auto id = static_cast<TermId>(terms_.size());
  table_[at] = id;
  terms_.push_back(
      {words_.size(), static_cast<std::uint32_t>(words.size()), short_hash, maker, kind, facts});
  words_.insert(words_.end(), words.begin(), words.end());
  if (terms_.size() * 2 > table_.size()) grow();
  return id;
}

void Terms::grow() {
  std::vector<TermId> larger(table_.size() * 4);
  std::size_t mask = larger.size() - 1;
  for (TermId id = 1; id < terms_.size(); ++id) {
    std::uint64_t hash = static_cast<std::uint64_t>(terms_[id].kind) + 1;
    for (std::uint64_t w : words(id)) hash = mixed(hash * 31 + w);
    std::size_t at = hash & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = id;
  }
  table_ = std::move(larger);
}

}  // namespace hocket::check
