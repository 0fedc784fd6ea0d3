#include <fmt/core.h>

#include <algorithm>

#include "hocket/comm/lane.h"
#include "hocket/comm/round.h"

namespace hocket::comm {
namespace {

bool same_sizes(const Post& a, const Post& b) {
  bool counts = a.kind != Kind::all_to_all;  // there lists of rows say it, which differ
  return std::ranges::equal(a.members, b.members, [&](const auto& x, const auto& y) {
    return (!counts || x.count == y.count) && x.row == y.row;
  });
}

bool agree(const Post& a, const Post& b) {
  bool pair = a.kind == Kind::send && b.kind == Kind::recv;
  if ((a.kind != b.kind && !pair) || a.channel != b.channel || a.dtype != b.dtype) return false;
  bool reduces = a.kind <= Kind::reduce || a.kind == Kind::reduce_scatter;
  if (reduces && a.reduce != b.reduce) return false;
  bool rooted = a.kind == Kind::reduce || a.kind == Kind::broadcast;
  return (!rooted || a.peer == b.peer) && same_sizes(a, b);
}

/// Rows that one rank sends and another does not expect.
std::string wrong_rows(const Round& round) {
  auto size = static_cast<std::size_t>(round.seats);
  for (std::size_t m = 0; m < round.posts[0].members.size(); ++m)
    for (std::size_t from = 0; from < size; ++from)
      for (std::size_t to = 0; to < size; ++to) {
        std::int64_t sent = round.posts[from].rows[2 * m * size + to];
        std::int64_t wanted = round.posts[to].rows[(2 * m + 1) * size + from];
        if (sent != wanted)
          return fmt::format(
              "channel {}: rank {} sends {} rows by all_to_all to rank {}, which "
              "wants {}",
              round.posts[0].channel, round.lane.ranks[from], sent, round.lane.ranks[to], wanted);
      }
  return "";
}

}  // namespace

std::string disagreement(const Round& round) {
  const Post& a = round.posts[0];
  for (const Post& b : round.all().subspan(1))
    if (!agree(a, b)) {
      std::string on = a.channel == b.channel ? "" : fmt::format(" on channel {}", b.channel);
      return fmt::format("channel {}: rank {} calls {}, rank {} calls {}{}", a.channel,
                         round.lane.ranks[0], a.text(),
                         round.lane.ranks[static_cast<std::size_t>(b.seat)], b.text(), on);
    }
  return a.kind == Kind::all_to_all ? wrong_rows(round) : "";
}

}  // namespace hocket::comm
