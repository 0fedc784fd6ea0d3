#pragma once
// One meeting of the ranks of a group: what each of them brought, whether it fits together, and the
// work, cut into chunks that any of them may do.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hocket/base/small_vector.h"
#include "hocket/comm/process_group.h"

namespace hocket::comm {

struct Lane;
struct Round;

/// A call as one rank brought it to a round. Written by that rank before it is `here`, read by all
/// once all are.
struct alignas(64) Post {
  struct Range {
    const std::byte* send;
    std::byte* recv;
    std::int64_t count;  // elements of the operand
    std::int64_t row;    // elements
  };

  Round* round = nullptr;
  int seat = 0;  // index in the lane
  Kind kind = Kind::barrier;
  Reduce reduce = Reduce::sum;
  DType dtype = DType::f32;
  int peer = 0;
  std::int64_t channel = 0;
  SmallVector<Range, 4> members;
  std::vector<std::int64_t> rows;                    // all_to_all: by member, sent then received
  std::vector<std::unique_ptr<std::byte[]>> copies;  // of operands that results overlap
  std::string name;
  std::atomic<bool> here{false};

  // Of the rank alone: its calls in flight in the order started, and what it knows of this one.
  ProcessGroup* owner = nullptr;
  Post* before = nullptr;
  Post* after = nullptr;
  bool settled = false;
  Transfer transfer;

  /// Takes over a call of a rank with this seat, in a group of `size`; refuses one that makes no
  /// sense.
  void fill(const Call& call, int size);
  std::int64_t bytes() const;  // of all operands
  /// `all_reduce of 64 f32`.
  std::string text() const;
};

/// `open` until all are here. Only ever goes up.
enum class Phase : std::uint32_t { open, ready, complete, mismatched };

struct Round {
  Round(Lane& in, int seats);

  Lane& lane;
  int seats;
  std::unique_ptr<Post[]> posts;
  std::atomic<Round*> next{nullptr};
  // Written by the last to come before `ready`.
  std::int64_t units = 0;  // of work, see run()
  int chunks = 0;
  double ready_at = 0, complete_at = 0;
  std::string mismatch;

  alignas(64) std::atomic<std::uint32_t> arrived{0};
  std::atomic<Phase> phase{Phase::open};
  std::atomic<std::uint64_t> claims{0};  // a bit for each chunk, and `closed`
  std::atomic<int> done{0};              // chunks
  std::atomic<int> left{0};              // ranks

  std::span<const Post> all() const { return {posts.get(), static_cast<std::size_t>(seats)}; }

  /// The rank in `seat` has filled its post; true for the last.
  bool arrive(int seat);
  /// By the last: compares the calls and cuts the work. Small work is done at once, because
  /// handing it out takes longer. Then the others should be told.
  void open();
  /// Does chunks that nobody has taken, those of this seat first; true when the last of all chunks
  /// was among them.
  bool help(int seat);
  /// Takes back what the rank in `seat` brought: no chunk starts any more, and none is running
  /// when this returns. Bounded by the time of one chunk.
  void close();
  /// Ready for other calls; nobody may know of it.
  void reset();

 private:
  bool finish_chunk(int chunk);
  void run(std::int64_t first, std::int64_t last) const;
  void reduce_range(std::size_t member, std::int64_t first, std::int64_t last) const;
  void copy_range(std::size_t member, std::int64_t first, std::int64_t last) const;
  void exchange_rows(std::size_t to) const;
};

/// What two posts of a round disagree on, or "".
std::string disagreement(const Round& round);

}  // namespace hocket::comm
