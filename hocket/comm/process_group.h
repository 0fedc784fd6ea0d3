#pragma once
// The interface for communication between ranks: collectives of a group, and their completion.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hocket/base/collective.h"
#include "hocket/base/dtype.h"

namespace hocket::comm {

using Kind = CollectiveKind;
using hocket::Reduce;

/// One tensor of a bucket: contiguous memory ranges of this rank for the operand and the result. A
/// range that the call does not use on this rank (the operand of a broadcast on ranks other than
/// the root) may be null; so may a result that would equal the operand (send, and reduce on ranks
/// other than the root).
///
/// `recv` may equal `send`. That is free for all_reduce, reduce and broadcast, and where operand
/// and result overlap exactly at this rank's piece (reduce_scatter, all_gather). Any other overlap
/// costs a copy of the operand at start.
struct Member {
  const void* send = nullptr;
  void* recv = nullptr;
  std::int64_t count = 0;  ///< elements of the operand; of the result where kind is recv
  // For all_to_all only. Empty lists mean equal shares of `count`; without elements, no rows.
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
  std::string_view name = {};  ///< name of the node, for messages
  bool same_bucket = false;  ///< belongs to the bucket of the previous call, so it pays no latency
};

/// The time and size of a transfer on this rank's link, for a trace.
struct Transfer {
  double bytes = 0;  ///< bytes that a ring algorithm would move through this rank's link
  double begin = 0;  ///< seconds of the steady clock
  double end = 0;
};

class ProcessGroup;
struct IssuedSequence;

/// A call in flight. It may be destroyed early, but must not outlive its group. Failures of any
/// rank are thrown here as a RunError.
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

  /// True if the call is done: results have arrived, and operands may be reused. May do arithmetic
  /// for this call and earlier ones, but never waits for another rank.
  bool test();
  /// Returns when the call is done; RunError after the deadline of the group, or after `seconds`.
  void wait();
  void wait(double seconds);
  /// The transfer of a finished call; zeros if the transport records no times.
  const Transfer& transfer() const { return transfer_; }
  /// The ranks of the world that have not started the call, as far as this rank can tell; none when
  /// it is done. Also after a wait has failed.
  std::vector<int> missing() const;

 private:
  Work(const Work&) = default;
  Work& operator=(const Work&) = default;

  ProcessGroup* group_ = nullptr;
  void* ticket_ = nullptr;  // null: done
  Transfer transfer_;
};

/// One rank's end of one group, used only by the thread of that rank. All ranks of a group start
/// the same calls in the same order, and these complete in that order; sends and receives are
/// matched in the order of their pair. The memory of calls in flight must outlive the group.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  virtual int size() const = 0;
  virtual int index() const = 0;        ///< of this rank in the group
  virtual double deadline() const = 0;  ///< default deadline of a wait, in seconds
  /// Starts a call; never waits. Copies the list of members, not their memory.
  virtual Work start(const CollectiveCall& call) = 0;
  /// Makes room for a call that will be started again and again: no start, test or wait allocates
  /// memory as long as each call that was announced here is in flight at most once, and no operand
  /// has to be copied: one that a result overlaps without being in its place, which no plan has.
  /// For before the first start.
  virtual void expect(const CollectiveCall& call) { (void)call; }
  /// What this rank has started, by sequence, for reports of failures. In every transport ranks
  /// compare the hashes of IssuedOrder, so that a different order stops the run.
  virtual std::vector<IssuedSequence> issued() const = 0;

 protected:
  friend class Work;
  /// Waits at most `seconds`, then throws; with 0 seconds, returns false when the call is not done.
  /// Otherwise the ticket is invalid afterwards, and `transfer` is set where times are recorded.
  virtual bool finish(void* ticket, double seconds, Transfer& transfer) = 0;
  /// See Work::missing; of a call that is not done.
  virtual std::vector<int> missing(void* ticket) const = 0;
};

}  // namespace hocket::comm
