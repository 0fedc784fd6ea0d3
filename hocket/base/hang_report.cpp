#include "hocket/base/hang_report.h"

#include <map>
#include <tuple>

namespace hocket {
namespace {

/// The number of the first call that both still know and that differs. A hash covers all calls up
/// to its own, so that equal hashes are followed by the first difference.
std::optional<std::int64_t> first_difference(const IssuedCalls& a, const IssuedCalls& b) {
  for (std::size_t i = 0, k = 0; i < a.calls.size() && k < b.calls.size();) {
    if (a.calls[i].number < b.calls[k].number)
      ++i;
    else if (a.calls[i].number > b.calls[k].number)
      ++k;
    else if (a.calls[i].order != b.calls[k].order)
      return a.calls[i].number;
    else
      ++i, ++k;
  }
  return std::nullopt;
}

}  // namespace

std::vector<OrderDifference> find_differences(const std::vector<StoppedRank>& ranks) {
  struct Known {
    Known(const IssuedCalls* of, int by) : calls(of), rank(by) {}
    const IssuedCalls* calls;
    int rank;
    bool differs = false;
  };
  std::map<std::tuple<std::string, bool, std::vector<int>>, Known> first;
  std::vector<OrderDifference> all;
  for (const StoppedRank& r : ranks)
    for (const IssuedCalls& calls : r.issued) {
      auto [at, fresh] = first.try_emplace({calls.group, calls.pair, calls.ranks}, &calls, r.rank);
      Known& known = at->second;
      if (fresh || known.differs) continue;
      auto number = first_difference(*known.calls, calls);
      known.differs = number.has_value();
      if (number)
        all.push_back({calls.group, calls.ranks, calls.pair, {known.rank, r.rank}, *number});
    }
  return all;
}

}  // namespace hocket
