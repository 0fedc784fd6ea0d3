#include "hocket/report/hang_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "hocket/base/json_writer.h"
#include "hocket/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t most_lines = 16;
constexpr std::int64_t around = 4;  // calls shown before and after a difference

constexpr std::string_view state_names[] = {"starts",   "waits", "tests",
                                            "computes", "done",  "failed"};

std::string node_text(std::string_view node, std::string_view op) {
  return fmt::format("{}{}{}", node, node.empty() ? "" : " = ", op);
}

void write_open(JsonWriter& json, const OpenTransfer& t) {
  json.begin_object().field("node", t.node).field("op", t.op).field("group", t.group);
  json.field("channel", t.channel).field("seconds", t.seconds);
  json.key("missing").begin_array();
  for (int rank : t.missing) json.value(rank);
  json.end_array().end_object();
}

/// Those with numbers from `first` to `last`.
void write_calls(JsonWriter& json, const IssuedCalls& issued, std::int64_t first,
                 std::int64_t last) {
  json.key("calls").begin_array();
  for (const IssuedCalls::Call& c : issued.calls)
    if (first <= c.number && c.number <= last)
      json.begin_object()
          .field("number", c.number)
          .field("order", fmt::format("{:016x}", c.order))
          .field("call", c.text)
          .end_object();
  json.end_array();
}

void write_rank(JsonWriter& json, const StoppedRank& r) {
  json.begin_object().field("rank", r.rank);
  json.field("state", state_names[static_cast<std::size_t>(r.state)]).field("seconds", r.seconds);
  json.field("iteration", r.iteration);
  if (r.drain > 0) json.field("drain", r.drain);
  json.field("phase", r.phase);
  json.field("instruction", r.instruction).field("instructions", r.instructions);
  if (r.state != Standing::done) {
    json.field("text", r.text).field("node", r.label.name).field("op", r.label.op);
    json.field("module", r.label.path);
  }
  if (r.waits_for) write_open(json.key("waits_for"), *r.waits_for);
  json.key("in_flight").begin_array();
  for (const OpenTransfer& t : r.in_flight) write_open(json, t);
  json.end_array().key("issued").begin_array();
  for (const IssuedCalls& issued : r.issued) {
    json.begin_object().field("group", issued.group).key("ranks").begin_array();
    for (int rank : issued.ranks) json.value(rank);
    json.end_array().field("pair", issued.pair).field("count", issued.count);
    write_calls(json, issued, issued.count - 2 * around, issued.count);
    json.end_object();
  }
  json.end_array().end_object();
}

/// The calls of a rank in the sequence in which it differs; both ranks have them.
const IssuedCalls* calls_of(const HangReport& report, const OrderDifference& d, int rank) {
  auto r = std::ranges::find(report.ranks, rank, &StoppedRank::rank);
  for (const IssuedCalls& issued : r->issued)
    if (issued.group == d.group && issued.pair == d.pair && issued.ranks == d.members)
      return &issued;
  return nullptr;
}

void write_difference(JsonWriter& json, const HangReport& report, const OrderDifference& d) {
  json.begin_object().field("group", d.group).field("number", d.number);
  json.key("ranks").begin_array();
  for (int rank : d.ranks)
    if (const IssuedCalls* issued = calls_of(report, d, rank)) {
      json.begin_object().field("rank", rank);
      write_calls(json, *issued, d.number - around, d.number + around);
      json.end_object();
    }
  json.end_array().end_object();
}

std::string seconds_text(double seconds) { return fmt::format("{:.3g} s", seconds); }

std::string ranks_text(const std::vector<int>& ranks) {
  std::size_t shown = std::min(ranks.size(), most_lines);
  return fmt::format(
      "rank{} {}{}", ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      ranks.size() > shown ? ", ..." : "");
}

/// `call, call, call`: the first that differs, between its neighbours.
std::string order_text(const IssuedCalls& issued, const OrderDifference& d) {
  std::vector<std::string_view> texts;
  for (const IssuedCalls::Call& c : issued.calls)
    if (d.number - 1 <= c.number && c.number <= d.number + 1) texts.push_back(c.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string line_of(const StoppedRank& r) {
  std::string turn = r.drain > 0 ? fmt::format("drain {} after iteration {}", r.drain, r.iteration)
                                 : fmt::format("iteration {}", r.iteration);
  if (r.state == Standing::done)
    return fmt::format("has done all {} of {}, at most {} ago",
                       count_of(r.instructions, "instruction"), turn, seconds_text(r.seconds));
  std::string where = fmt::format("instruction {} of {} ({}{}{}) of {}", r.instruction,
                                  r.instructions, node_text(r.label.name, r.label.op),
                                  r.label.path.empty() ? "" : " in ", r.label.path, turn);
  if (r.state == Standing::waits && r.waits_for) {
    const OpenTransfer& t = *r.waits_for;
    std::string missing = t.missing.empty() ? "" : fmt::format("for {} ", ranks_text(t.missing));
    return fmt::format("waits {}in {} on channel {} of group {}, for {}, at {}", missing,
                       node_text(t.node, t.op), t.channel, quoted(t.group), seconds_text(r.seconds),
                       where);
  }
  if (r.state == Standing::starts) return "starts " + where;
  if (r.state == Standing::tests) return "tests its transfers after " + where;
  if (r.state == Standing::failed) return "failed in " + where;
  return fmt::format("computes {}, for at most {}", where, seconds_text(r.seconds));
}

}  // namespace

std::string to_json(const HangReport& report) {
  JsonWriter json;
  json.begin_object().field("error", report.error);
  json.key("ranks").begin_array();
  for (const StoppedRank& r : report.ranks) write_rank(json, r);
  json.end_array().key("differences").begin_array();
  for (const OrderDifference& d : report.differences) write_difference(json, report, d);
  json.end_array().end_object();
  return indented(json.take()) + "\n";
}

std::string to_lines(const HangReport& report) {
  if (std::ranges::count(report.ranks, Standing::failed, &StoppedRank::state) > 0) return "";
  std::string text;
  for (std::size_t i = 0; i < report.ranks.size() && i < most_lines; ++i)
    text += fmt::format("  rank {}: {}\n", report.ranks[i].rank, line_of(report.ranks[i]));
  if (report.ranks.size() > most_lines)
    text += fmt::format(
        "  and {}\n",
        count_of(static_cast<std::int64_t>(report.ranks.size() - most_lines), "more rank"));
  for (const OrderDifference& d : report.differences) {
    std::string calls;
    for (int rank : d.ranks)
      if (const IssuedCalls* issued = calls_of(report, d, rank))
        calls += fmt::format("{} rank {} called {}", calls.empty() ? ":" : ";", rank,
                             order_text(*issued, d));
    text += fmt::format("  order of calls in group {}{}\n", quoted(d.group), calls);
  }
  return text;
}

}  // namespace hocket
