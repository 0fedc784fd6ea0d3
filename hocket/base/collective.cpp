#include "hocket/base/collective.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 5> reductions{"sum", "avg", "min", "max", "product"};

}  // namespace

std::string_view name(Reduce reduce) { return reductions[static_cast<std::size_t>(reduce)]; }

std::string_view name(LaunchOrder order) {
  return order == LaunchOrder::total ? "total" : "per-group";
}

std::span<const std::string_view> reduce_names() { return reductions; }

std::optional<Reduce> find_reduce(std::string_view name) {
  auto found = std::ranges::find(reductions, name);
  if (found == reductions.end()) return std::nullopt;
  return static_cast<Reduce>(found - reductions.begin());
}

double link_bytes(CollectiveKind kind, std::int64_t size, double bytes) {
  if (size <= 1) return 0;
  const Collective& c = facts(kind);
  auto others = static_cast<double>(size - 1), all = static_cast<double>(size);
  return (c.link_whole + c.link_pieces * others / all + c.link_others * others) * bytes;
}

}  // namespace hocket
