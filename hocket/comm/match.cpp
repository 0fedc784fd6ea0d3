#include <fmt/core.h>

#include "hocket/base/text.h"
#include "hocket/comm/round_sequence.h"
#include "hocket/comm/round_work.h"

namespace hocket::comm {
namespace {

bool same_sizes(const PostedCall& a, const PostedCall& b) {
  if (a.size != b.size) return false;
  for (std::size_t m = 0; m < a.size; ++m)
    // In an all_to_all the element counts of ranks may differ; only the size of a row must agree.
    if (facts(a.kind).result == ResultSize::by_rows ? a.row(m) != b.row(m)
                                                    : a.ranges[m].count != b.ranges[m].count)
      return false;
  return true;
}

bool agree(const PostedCall& a, const PostedCall& b) {
  bool pair = a.kind == Kind::send && b.kind == Kind::recv;
  if ((a.kind != b.kind && !pair) || a.channel != b.channel || a.dtype != b.dtype) return false;
  if (facts(a.kind).reduces && a.reduce != b.reduce) return false;
  return (!facts(a.kind).rooted() || a.peer == b.peer) && same_sizes(a, b);
}

int rank_of(const PostedCall& p) {
  return p.round.sequence->ranks[static_cast<std::size_t>(p.participant)];
}

/// Describes where `from` sends another number of rows than `to` expects, in an all_to_all; or "".
std::string wrong_rows(const PostedCall& from, const PostedCall& to) {
  auto sender = static_cast<std::size_t>(from.participant),
       receiver = static_cast<std::size_t>(to.participant);
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

std::string title(const RoundSequence& sequence, Kind kind, std::int64_t channel,
                  std::string_view name) {
  return fmt::format("{}{}{} on channel {} of group {}", name, name.empty() ? "" : " = ",
                     hocket::name(kind), channel, quoted(sequence.group));
}

std::string title(const PostedCall& p) {
  return title(*p.round.sequence, p.kind, p.channel, p.name);
}

std::string disagreement(const PostedCall& p, int participant) {
  const PostedCall& other = p.round.at(participant);
  if (clearly_agree(p, other)) return "";
  const PostedCall &a = p.participant < participant ? p : other,
                   &b = p.participant < participant ? other : p;
  if (!agree(a, b)) {
    // The title describes the first call; this text adds what differs in the second.
    std::string named = a.name == b.name || b.name.empty() ? "" : fmt::format("{} = ", b.name);
    std::string on = a.channel == b.channel ? "" : fmt::format(" on channel {}", b.channel);
    return fmt::format("{}: rank {} calls {}, rank {} calls {}{}{}", title(a), rank_of(a), a.text(),
                       rank_of(b), named, b.text(), on);
  }
  if (a.order != b.order)
    return fmt::format("{}: rank {} and rank {} agree on this call, but not on those before it",
                       title(a), rank_of(a), rank_of(b));
  std::string wrong = wrong_rows(a, b);
  return wrong.empty() ? wrong_rows(b, a) : wrong;
}

}  // namespace hocket::comm
