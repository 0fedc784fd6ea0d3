#include <algorithm>
#include <cstring>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/comm/lane.h"
#include "hocket/comm/round.h"

namespace hocket::comm {
namespace {

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
  if (m.row < 1) fail("all_to_all: rows of {} elements", m.row);
  if (given.empty()) {
    if (m.count % (m.row * size) != 0)
      fail("all_to_all: {} elements in rows of {}, wanted rows that {} divide, or lists", m.count,
           m.row, count_of(size, "rank"));
    rows.insert(rows.end(), static_cast<std::size_t>(size), m.count / m.row / size);
    return;
  }
  if (static_cast<int>(given.size()) != size || std::ranges::min(given) < 0)
    fail("all_to_all: a list of {} rows, wanted one number for each of {}", given.size(),
         count_of(size, "rank"));
  rows.insert(rows.end(), given.begin(), given.end());
}

/// Whether other ranks could still read what this rank's results overwrite.
bool must_copy(const Post& p, const Post::Range& r, std::int64_t received, int size) {
  std::int64_t unit = bytes(p.dtype);
  if (!meets(r.send, r.count * unit, r.recv, received * unit)) return false;
  if (p.kind == Kind::all_gather) return r.recv + p.seat * r.count * unit != r.send;
  if (p.kind == Kind::reduce_scatter) return r.send + p.seat * received * unit != r.recv;
  return p.kind == Kind::all_to_all ? size > 1 || r.send != r.recv : r.send != r.recv;
}

}  // namespace

void Post::fill(const Call& call, int size) {
  kind = call.kind;
  reduce = call.reduce;
  dtype = call.dtype;
  peer = call.peer;
  channel = call.channel;
  name.assign(call.name);
  members.clear();
  rows.clear();
  copies.clear();
  for (const Member& m : call.members) {
    Range r{static_cast<const std::byte*>(m.send), static_cast<std::byte*>(m.recv), m.count, m.row};
    if (r.count < 0) fail("{}: {} elements", comm::name(kind), r.count);
    std::int64_t received = r.count;
    if (kind == Kind::all_gather) received *= size;
    if (kind == Kind::reduce_scatter) {
      if (r.count % size != 0)
        fail("reduce_scatter: {} elements, wanted a number that {} divide", r.count,
             count_of(size, "rank"));
      received /= size;
    }
    if (kind == Kind::all_to_all) {
      if (m.send_rows.empty() != m.recv_rows.empty())
        fail("all_to_all: rows to send and to receive are both given or both left out");
      append_rows(rows, m.send_rows, m, size);
      append_rows(rows, m.recv_rows, m, size);
      auto ends = std::span(rows).last(2 * static_cast<std::size_t>(size));
      r.count = sum(ends.first(ends.size() / 2)) * r.row;
      received = sum(ends.last(ends.size() / 2)) * r.row;
    }
    if (must_copy(*this, r, received, size)) {
      auto length = static_cast<std::size_t>(r.count * hocket::bytes(dtype));
      copies.push_back(std::make_unique<std::byte[]>(length));
      std::memcpy(copies.back().get(), r.send, length);
      r.send = copies.back().get();
    }
    members.push_back(r);
  }
}

std::int64_t Post::bytes() const {
  std::int64_t elements = 0;
  for (const Range& r : members) elements += r.count;
  return elements * hocket::bytes(dtype);
}

std::string Post::text() const {
  std::string out(comm::name(kind));
  if (kind == Kind::barrier) return out;
  if (kind <= Kind::reduce || kind == Kind::reduce_scatter)
    if (reduce != Reduce::sum) out += fmt::format(" {}", comm::name(reduce));
  if (kind == Kind::reduce) out += fmt::format(" to {}", peer);
  if (kind == Kind::broadcast) out += fmt::format(" from {}", peer);
  out += " of ";
  for (std::size_t i = 0; i < members.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : " + ", members[i].count);
  return out + fmt::format(" {}", hocket::name(dtype));
}

}  // namespace hocket::comm
