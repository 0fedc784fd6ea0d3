#pragma once
// What a rank has issued in one sequence of calls: a hash of all of it, and the last calls.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hocket/base/hash.h"
#include "hocket/comm/process_group.h"

namespace hocket::comm {

/// What the ranks of a sequence must agree on in a call.
struct IssuedCall {
  std::uint64_t order = 0;  ///< hash of all calls of the sequence up to this one
  std::int64_t channel = 0;
  std::int64_t elements = 0;  ///< of all operands
  std::uint32_t members = 0;
  Kind kind = Kind::barrier;
  Reduce reduce = Reduce::sum;
  DType dtype = DType::f32;

  /// `all_reduce of 64 f32 on channel 3`.
  std::string text() const;
};

/// Two ranks have issued the same calls in the same order if their hashes are equal, so that one
/// word of a call says more than all its fields. A transport keeps one object for each sequence of
/// calls that ranks match one by one: for a group, and for each direction of a pair that sends. The
/// hash depends on nothing but the calls, and can be compared between processes. Allocates nothing;
/// a few nanoseconds a call.
class IssuedOrder {
 public:
  static constexpr std::int64_t kept = 32;

  /// Adds a call, and returns the hash of all calls so far.
  std::uint64_t issue(const CollectiveCall& call) {
    IssuedCall& last = calls_[static_cast<std::uint64_t>(count_++) % kept];
    const Collective& kind = facts(call.kind);
    std::uint64_t sizes = 0;
    last.elements = 0;
    for (std::uint64_t i = 1; const Member& m : call.members) {
      // Ranks may have different numbers of rows, but not rows of different sizes.
      auto size = static_cast<std::uint64_t>(kind.result == ResultSize::by_rows ? m.row : m.count);
      sizes += mixed(size + step * i++);  // no chain: the products overlap
      last.elements += m.count;
    }
    last.channel = call.channel;
    last.members = static_cast<std::uint32_t>(call.members.size());
    last.kind = call.kind;
    last.reduce = kind.reduces ? call.reduce : Reduce::sum;
    last.dtype = call.dtype;
    // A send and its receive are one call.
    auto what = static_cast<std::uint64_t>(call.kind == Kind::recv ? Kind::send : call.kind) |
                static_cast<std::uint64_t>(last.reduce) << 8 |
                static_cast<std::uint64_t>(last.dtype) << 16 |
                static_cast<std::uint64_t>(last.members) << 32;
    auto root = static_cast<std::uint64_t>(kind.rooted() ? call.peer + 1 : 0);
    order_ = mixed(order_ * step + mixed(what) + sizes +
                   mixed(static_cast<std::uint64_t>(call.channel) * step + root));
    return last.order = order_;
  }

  std::int64_t count() const { return count_; }   ///< of all calls
  std::uint64_t order() const { return order_; }  ///< hash of all calls
  /// The first call that is still kept, counted from 0.
  std::int64_t first_kept() const { return count_ < kept ? 0 : count_ - kept; }
  const IssuedCall& at(std::int64_t number) const {
    return calls_[static_cast<std::uint64_t>(number) % kept];
  }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;

  std::uint64_t order_ = 0;
  std::int64_t count_ = 0;
  std::array<IssuedCall, kept> calls_{};
};

/// A sequence of calls of some ranks, and what one of them has issued in it.
struct IssuedSequence {
  std::vector<int> ranks;  ///< of the world; of a pair, first the one that sends
  bool pair = false;
  IssuedOrder order;
};

}  // namespace hocket::comm
