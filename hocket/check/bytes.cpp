#include "hocket/check/bytes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace hocket::check {

/// Cuts a range out; returns the first piece behind it.
WrittenBytes::Pieces::iterator WrittenBytes::erase(Range r) {
  auto it = pieces_.lower_bound(r.begin);
  if (it != pieces_.begin()) {
    auto before = std::prev(it);
    Piece piece = before->second;
    if (piece.end > r.begin) before->second.end = r.begin;
    if (piece.end > r.end) return pieces_.emplace_hint(it, r.end, piece);
  }
  while (it != pieces_.end() && it->first < r.end) {
    Piece piece = it->second;
    it = pieces_.erase(it);
    if (piece.end > r.end) it = pieces_.emplace_hint(it, r.end, piece);
  }
  return it;
}

void WrittenBytes::write(Range r) {
  if (r.empty()) return;
  // Mostly the same bytes were written before.
  if (auto it = pieces_.find(r.begin); it != pieces_.end() && it->second.end == r.end)
    it->second.written = r;
  else
    pieces_.emplace_hint(erase(r), r.begin, Piece{r.end, r});
}

void WrittenBytes::forget(Range r) {
  if (!r.empty()) erase(r);
}

void WrittenBytes::keep_only(std::span<const Range> ranges) {
  std::int64_t from = pieces_.empty() ? 0 : std::min<std::int64_t>(0, pieces_.begin()->first);
  for (Range r : ranges) {
    forget({from, r.begin});
    from = r.end;
  }
  if (!pieces_.empty()) forget({from, std::max(from, pieces_.rbegin()->second.end)});
}

WrittenBytes::Finding WrittenBytes::read(Range r) const {
  if (r.empty()) return Finding::whole;
  auto it = pieces_.upper_bound(r.begin);
  if (it == pieces_.begin()) return Finding::undefined;
  --it;
  if (it->second.end >= r.end) return Finding::whole;
  return it->second.end <= r.begin ? Finding::undefined : read_pieces(r, it);
}

WrittenBytes::Finding WrittenBytes::read_pieces(Range r, Pieces::const_iterator it) const {
  std::vector<std::pair<Range, std::int64_t>> left;  // by write: its bytes inside the range
  std::int64_t at = r.begin;
  for (; at < r.end; ++it) {
    if (it == pieces_.end() || it->first > at) return Finding::undefined;
    std::int64_t end = std::min(it->second.end, r.end);
    left.emplace_back(it->second.written, end - at);
    at = end;
  }
  std::ranges::sort(left, {}, [](const auto& l) { return std::pair(l.first.begin, l.first.end); });
  for (std::size_t i = 0; i < left.size();) {
    Range written = left[i].first;
    std::int64_t bytes = 0;
    for (; i < left.size() && left[i].first == written; ++i) bytes += left[i].second;
    if (bytes < std::min(written.end, r.end) - std::max(written.begin, r.begin))
      return Finding::torn;
  }
  return Finding::whole;
}

/// The piece that begins here, or what comes behind; none lies across.
std::map<std::int64_t, CountedRanges::Piece>::iterator CountedRanges::split(std::int64_t at) {
  auto it = pieces_.lower_bound(at);
  if (it == pieces_.begin()) return it;
  auto before = std::prev(it);
  if (before->second.end <= at) return it;
  Piece behind = before->second;
  before->second.end = at;
  return pieces_.emplace_hint(it, at, behind);
}

void CountedRanges::add(Range r) {
  if (r.empty()) return;
  split(r.end);
  std::int64_t at = r.begin;
  for (auto it = split(r.begin); at < r.end; ++it) {
    if (it == pieces_.end() || it->first > at) {
      std::int64_t end = it == pieces_.end() ? r.end : std::min(r.end, it->first);
      it = pieces_.emplace_hint(it, at, Piece{end, 0});
    }
    ++it->second.count;
    at = it->second.end;
  }
}

void CountedRanges::remove(Range r) {
  if (r.empty()) return;
  split(r.end);
  for (auto it = split(r.begin); it != pieces_.end() && it->first < r.end;)
    it = --it->second.count == 0 ? pieces_.erase(it) : std::next(it);
}

bool CountedRanges::meet(Range r) const {
  if (r.empty()) return false;
  auto it = pieces_.upper_bound(r.begin);
  if (it != pieces_.end() && it->first < r.end) return true;
  return it != pieces_.begin() && std::prev(it)->second.end > r.begin;
}

}  // namespace hocket::check
