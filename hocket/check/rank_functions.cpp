#include "hocket/check/rank_functions.h"

#include <algorithm>

namespace hocket::check {

Offset RankFunctions::intern(std::vector<std::int64_t> values) {
  if (std::ranges::all_of(values, [](std::int64_t v) { return v == 0; })) return 0;
  auto [it, fresh] = known_offsets_.emplace(values, static_cast<std::uint32_t>(offsets_.size()));
  if (fresh) offsets_.push_back(std::move(values));
  return it->second;
}

std::pair<std::int64_t, Offset> RankFunctions::offset(std::vector<std::int64_t> values) {
  std::int64_t first = values.empty() ? 0 : values[0];
  for (std::int64_t& v : values) v -= first;
  return {first, intern(std::move(values))};
}

Offset RankFunctions::difference(Offset a, Offset b) {
  if (b == 0) return a;
  if (a == b) return 0;
  auto [it, fresh] = differences_.try_emplace({a, b});
  if (!fresh) return it->second;
  std::vector<std::int64_t> values(offsets_[b].size());
  for (std::size_t r = 0; r < values.size(); ++r) values[r] = at(a, r) - at(b, r);
  return it->second = intern(std::move(values));
}

Offset RankFunctions::sum(Offset a, Offset b) {
  if (a == 0 || b == 0) return a + b;
  auto [it, fresh] = sums_.try_emplace({std::min(a, b), std::max(a, b)});
  if (!fresh) return it->second;
  std::vector<std::int64_t> values(offsets_[b].size());
  for (std::size_t r = 0; r < values.size(); ++r) values[r] = at(a, r) + at(b, r);
  return it->second = intern(std::move(values));
}

Partition RankFunctions::partition(std::span<const std::uint32_t> labels) {
  // Labels are renamed in the order of their first ranks, so that equal partitions are equal lists.
  std::map<std::uint32_t, std::uint32_t> names;
  std::vector<std::uint32_t> list;
  for (std::uint32_t l : labels)
    list.push_back(names.try_emplace(l, static_cast<std::uint32_t>(names.size())).first->second);
  if (names.size() <= 1) return 0;
  auto [it, fresh] =
      known_partitions_.emplace(list, static_cast<std::uint32_t>(partitions_.size()));
  if (fresh) partitions_.push_back(std::move(list));
  return it->second;
}

Partition RankFunctions::meet(Partition a, Partition b) {
  if (a == 0 || b == 0 || a == b) return std::max(a, b);
  auto [it, fresh] = meets_.try_emplace({std::min(a, b), std::max(a, b)});
  if (!fresh) return it->second;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> names;
  std::vector<std::uint32_t> labels;
  for (std::size_t r = 0; r < partitions_[a].size(); ++r)
    labels.push_back(
        names.try_emplace({label(a, r), label(b, r)}, static_cast<std::uint32_t>(names.size()))
            .first->second);
  std::uint32_t both = partition(labels);
  return meets_[{std::min(a, b), std::max(a, b)}] = both;
}

Partition RankFunctions::of(Offset f) {
  if (f == 0) return 0;
  auto [known, unknown] = partition_of_.try_emplace(f);
  if (!unknown) return known->second;
  std::map<std::int64_t, std::uint32_t> names;
  std::vector<std::uint32_t> labels;
  for (std::int64_t v : offsets_[f])
    labels.push_back(names.try_emplace(v, static_cast<std::uint32_t>(names.size())).first->second);
  return known->second = partition(labels);
}

Partition RankFunctions::each(std::size_t ranks) {
  std::vector<std::uint32_t> labels(ranks);
  for (std::size_t r = 0; r < ranks; ++r) labels[r] = static_cast<std::uint32_t>(r);
  return partition(labels);
}

}  // namespace hocket::check
