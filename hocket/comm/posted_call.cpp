#include "hocket/comm/posted_call.h"

#include <algorithm>
#include <cstring>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::comm {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1}
                                       << 48;  // limit, so that no product overflows

bool meets(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) {
  return a != nullptr && b != nullptr && a < b + b_bytes && b < a + a_bytes;
}

std::int64_t sum(std::span<const std::int64_t> list) {
  std::int64_t total = 0;
  for (std::int64_t n : list) total += n;
  return total;
}

/// Appends the rows of a member for or from each rank.
void append_rows(std::vector<std::int64_t>& rows, std::span<const std::int64_t> given,
                 const Member& m, int size) {
  if (m.row < 0) fail("all_to_all: rows of {} elements", m.row);
  if (given.empty()) {
    std::int64_t each = m.row == 0 ? 0 : m.count / m.row / size;
    if (each * m.row * size != m.count)
      fail("all_to_all: {} elements in rows of {}, wanted rows that {} divide, or lists", m.count,
           m.row, count_of(size, "rank"));
    rows.insert(rows.end(), static_cast<std::size_t>(size), each);
    return;
  }
  if (static_cast<int>(given.size()) != size || std::ranges::min(given) < 0)
    fail("all_to_all: a list of {} rows, wanted one number for each of {}", given.size(),
         count_of(size, "rank"));
  rows.insert(rows.end(), given.begin(), given.end());
}

/// Whether writing this rank's results could destroy operands that other ranks still read.
bool must_copy(const CollectiveCall& call, int participant, const PostedCall::Range& r,
               std::int64_t received, int size) {
  std::int64_t unit = bytes(call.dtype);
  if (!meets(r.send, r.count * unit, r.recv, received * unit)) return false;
  switch (facts(call.kind).result) {
    case ResultSize::gathered:
      return r.recv + participant * r.count * unit != r.send;
    case ResultSize::piece:
      return r.send + participant * received * unit != r.recv;
    case ResultSize::by_rows:
      return size > 1 || r.send != r.recv;
    case ResultSize::equal:
      return r.send != r.recv;
  }
  return true;
}

/// The memory that a member of `post` reads and writes, after checks. Copies the operand if needed.
PostedCall::Range checked(PostedCall& post, const CollectiveCall& call, const Member& m,
                          int participants) {
  PostedCall::Range r{static_cast<const std::byte*>(m.send), static_cast<std::byte*>(m.recv),
                      m.count};
  if (r.count < 0 || r.count > most_elements) fail("{}: {} elements", name(call.kind), r.count);
  std::int64_t received = r.count;
  ResultSize result = facts(call.kind).result;
  if (result == ResultSize::gathered) received *= participants;
  if (result == ResultSize::piece) {
    if (r.count % participants != 0)
      fail("{}: {} elements, wanted a number that {} divide", name(call.kind), r.count,
           count_of(participants, "rank"));
    received /= participants;
  }
  if (result == ResultSize::by_rows) {
    if (m.send_rows.empty() != m.recv_rows.empty())
      fail("all_to_all: rows to send and to receive are both given or both left out");
    post.rows.push_back(m.row);
    append_rows(post.rows, m.send_rows, m, participants);
    append_rows(post.rows, m.recv_rows, m, participants);
    auto ends = std::span(post.rows).last(2 * static_cast<std::size_t>(participants));
    r.count = sum(ends.first(ends.size() / 2)) * m.row;
    received = sum(ends.last(ends.size() / 2)) * m.row;
  }
  if (must_copy(call, post.participant, r, received, participants)) {
    auto length = static_cast<std::size_t>(r.count * bytes(call.dtype));
    post.copies.push_back(std::make_unique<std::byte[]>(length));
    std::memcpy(post.copies.back().get(), r.send, length);
    r.send = post.copies.back().get();
  }
  return r;
}

}  // namespace

CallHead PostedCall::fill(const CollectiveCall& call, int participants) {
  if (name != call.name) name.assign(call.name);
  if (heavy) {
    several.clear();
    rows.clear();
    copies.clear();
  }
  heavy = true;  // stays set if a check below throws
  CallHead head{.size = static_cast<std::uint32_t>(call.members.size()),
                .peer = call.peer,
                .kind = call.kind,
                .reduce = call.reduce,
                .dtype = call.dtype,
                .ranges = &only};
  if (head.size == 1) {
    head.only = checked(*this, call, call.members[0], participants);
  } else {
    for (const Member& m : call.members) several.push_back(checked(*this, call, m, participants));
    head.ranges = several.data();
  }
  channel = call.channel;
  same_bucket = call.same_bucket;
  heavy = head.size > 1 || !rows.empty() || !copies.empty();
  seen = finished = 0;
  met = settled = false;
  return head;
}

std::span<const std::int64_t> PostedCall::rows_of(std::size_t member, bool received) const {
  std::size_t stride = rows.size() / size, ranks = stride / 2;
  return std::span(rows).subspan(member * stride + 1 + (received ? ranks : 0), ranks);
}

std::int64_t PostedCall::bytes() const {
  std::int64_t elements = 0;
  for (const Range& r : members()) elements += r.count;
  return elements * hocket::bytes(dtype);
}

std::string PostedCall::text() const {
  std::string out(hocket::name(kind));
  if (kind == Kind::barrier) return out;
  if (facts(kind).reduces && reduce != Reduce::sum) out += fmt::format(" {}", hocket::name(reduce));
  if (kind == Kind::reduce) out += fmt::format(" to {}", peer);
  if (kind == Kind::broadcast) out += fmt::format(" from {}", peer);
  if (size == 0) return out + " of nothing";
  out += " of ";
  for (const char* before = ""; const Range& r : members()) {
    out += fmt::format("{}{}", before, r.count);
    before = " + ";
  }
  return out + fmt::format(" {}", hocket::name(dtype));
}

}  // namespace hocket::comm
