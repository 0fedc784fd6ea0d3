#include <fmt/core.h>

#include "hocket/base/text.h"
#include "hocket/comm/lane.h"
#include "hocket/comm/round.h"

namespace hocket::comm {
namespace {

bool same_sizes(const Post& a, const Post& b) {
  if (a.size != b.size) return false;
  for (std::size_t m = 0; m < a.size; ++m)
    // Where lists of rows say how many elements there are, the counts may differ.
    if (facts(a.kind).result == ResultSize::by_rows ? a.row(m) != b.row(m)
                                                    : a.ranges[m].count != b.ranges[m].count)
      return false;
  return true;
}

bool agree(const Post& a, const Post& b) {
  bool pair = a.kind == Kind::send && b.kind == Kind::recv;
  if ((a.kind != b.kind && !pair) || a.channel != b.channel || a.dtype != b.dtype) return false;
  if (facts(a.kind).reduces && a.reduce != b.reduce) return false;
  return (!facts(a.kind).rooted() || a.peer == b.peer) && same_sizes(a, b);
}

int rank_of(const Post& p) { return p.round.lane->ranks[static_cast<std::size_t>(p.seat)]; }

/// Rows of an all_to_all that one rank sends and the other does not expect.
std::string wrong_rows(const Post& from, const Post& to) {
  auto sender = static_cast<std::size_t>(from.seat), receiver = static_cast<std::size_t>(to.seat);
  for (std::size_t m = 0; m < from.size; ++m) {
    std::int64_t sent = from.rows_of(m, false)[receiver];
    std::int64_t wanted = to.rows_of(m, true)[sender];
    if (sent != wanted)
      return fmt::format("{}: rank {} sends {} rows to rank {}, which wants {}", title(from),
                         rank_of(from), sent, rank_of(to), wanted);
  }
  return "";
}

}  // namespace

std::string title(const Lane& lane, Kind kind, std::int64_t channel, std::string_view name) {
  return fmt::format("{}{}{} on channel {} of group {}", name, name.empty() ? "" : " = ",
                     hocket::name(kind), channel, quoted(lane.group));
}

std::string title(const Post& p) { return title(*p.round.lane, p.kind, p.channel, p.name); }

std::string disagreement(const Post& p, int seat) {
  const Post& other = p.round.at(seat);
  const Post &a = p.seat < seat ? p : other, &b = p.seat < seat ? other : p;
  if (!agree(a, b)) {
    // What the title does not say of the second.
    std::string named = a.name == b.name || b.name.empty() ? "" : fmt::format("{} = ", b.name);
    std::string on = a.channel == b.channel ? "" : fmt::format(" on channel {}", b.channel);
    return fmt::format("{}: rank {} calls {}, rank {} calls {}{}{}", title(a), rank_of(a), a.text(),
                       rank_of(b), named, b.text(), on);
  }
  if (facts(a.kind).result != ResultSize::by_rows) return "";
  std::string wrong = wrong_rows(a, b);
  return wrong.empty() ? wrong_rows(b, a) : wrong;
}

}  // namespace hocket::comm
