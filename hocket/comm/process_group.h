#pragma once
// Bytes between ranks: what one rank of a group can start, and how it learns that it is done.

#include <cstdint>
#include <span>
#include <string_view>

#include "hocket/base/collective.h"
#include "hocket/base/dtype.h"

namespace hocket::comm {

using Kind = CollectiveKind;
using hocket::Reduce;

/// One tensor of a bucket: contiguous ranges of this rank. A range that the call does not read or
/// write on this rank (the operand of a broadcast, off its root) may be null; so may a result that
/// is only what this rank brought (send, and reduce off its root).
///
/// `recv` may be `send`. That costs nothing for all_reduce, reduce and broadcast, nor where the
/// result lies at its place: this rank's piece of a reduce_scatter's operand, of an all_gather's
/// result. Any other overlap costs a copy of the operand at start.
struct Member {
  const void* send = nullptr;
  void* recv = nullptr;
  std::int64_t count = 0;  ///< elements of the operand; of the result where kind is recv
  // For all_to_all only. Empty lists: equal shares of `count`, none of rows without elements.
  std::span<const std::int64_t> send_rows = {};  ///< for each rank of the group
  std::span<const std::int64_t> recv_rows = {};
  std::int64_t row = 1;  ///< elements of a row
};

struct CollectiveCall {
  Kind kind = Kind::all_reduce;
  Reduce reduce = Reduce::sum;
  DType dtype = DType::f32;
  int peer = 0;  ///< index in the group: the root, or the other end of send and recv
  std::int64_t channel = 0;
  std::span<const Member> members = {};
  std::string_view name = {};  ///< the node, for messages
  bool same_bucket = false;    ///< the call before went to the same ranks: no latency of its own
};

/// What passed the link of this rank, for a trace.
struct Transfer {
  double bytes = 0;  ///< that a ring would move through this rank's link
  double begin = 0;  ///< seconds of the steady clock
  double end = 0;
};

class ProcessGroup;

/// A call in flight. It may be dropped, but not outlive its group. What failed, wherever it failed,
/// is thrown here as a RunError.
class Work {
 public:
  Work() = default;
  Work(ProcessGroup& group, void* ticket) : group_(&group), ticket_(ticket) {}
  Work(Work&& o) noexcept : Work(o) { o.ticket_ = nullptr; }
  Work& operator=(Work&& o) noexcept {
    *this = static_cast<const Work&>(o);
    o.ticket_ = nullptr;
    return *this;
  }

  /// Whether it is done: results are there, operands are free. Does what can be done now, which
  /// may be the arithmetic of this call and of those before it, but waits for nobody.
  bool test();
  /// Until it is done; at most the deadline of the group, or `seconds`.
  void wait();
  void wait(double seconds);
  /// Of a finished one; zeros where the transport was not asked for times.
  const Transfer& transfer() const { return transfer_; }

 private:
  Work(const Work&) = default;
  Work& operator=(const Work&) = default;

  ProcessGroup* group_ = nullptr;
  void* ticket_ = nullptr;  // null: done
  Transfer transfer_;
};

/// One rank's end of one group, for the one thread that is that rank. All ranks of a group start
/// the same calls in the same order, and those are done in that order; send and recv meet in the
/// order of their pair. The ranges of calls in flight must outlive the group.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  virtual int size() const = 0;
  virtual int index() const = 0;        ///< of this rank in the group
  virtual double deadline() const = 0;  ///< seconds that a wait takes at most, unless told
  /// Never waits. The members are copied, the ranges are not.
  virtual Work start(const CollectiveCall& call) = 0;

 protected:
  friend class Work;
  /// Waits at most `seconds` and throws when they are over; false when not done and `seconds` is 0.
  /// Otherwise the ticket is used up, and `transfer` is set where there are times.
  virtual bool finish(void* ticket, double seconds, Transfer& transfer) = 0;
};

}  // namespace hocket::comm
