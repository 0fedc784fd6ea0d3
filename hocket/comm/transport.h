#pragma once
// How the ranks of a world reach each other, as one process sees it.

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hocket/comm/process_group.h"

namespace hocket::comm {

/// Some ranks of a world are hosted by this process, one thread each; other processes may host the
/// rest. All ranks of the world are reached in the same way, wherever they are.
///
/// A rank fails when fail() says so, when one of its waits throws, or when one of its groups is
/// destroyed with calls in flight. Then every wait, test and start of all other ranks throws the
/// first cause.
class Transport {
 public:
  /// What went wrong first in the world.
  struct Failure {
    std::optional<int>
        rank;  ///< whose failure it was; none when calls of ranks do not fit together
    std::string message;
  };

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int ranks() const = 0;                    ///< of the world, in all processes
  virtual std::span<const int> hosted() const = 0;  ///< by this process: at least one, ascending

  /// The end of a hosted rank in the group of these ranks; one group for all that give the same
  /// name and list. Any thread may ask; then it belongs to the thread that is this rank. It must
  /// not outlive the transport's close().
  virtual std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                              std::span<const int> ranks) = 0;
  /// The group "world" of all ranks.
  std::unique_ptr<ProcessGroup> all(int rank);

  /// A hosted rank has failed. From any thread. The first one counts.
  virtual void fail(int rank, const std::exception_ptr& cause) = 0;
  virtual std::optional<Failure> failure() const = 0;
  /// What a rank does that others wait for, for their messages: `waits in ... for rank 2, which
  /// ...` once it has waited for long. From any thread.
  virtual std::string doing(int rank) const = 0;

  /// Hosted ranks make no more groups. Returns when no rank elsewhere needs this process any more,
  /// or when the world has failed. InternalError while a hosted rank still has a group.
  virtual void close() = 0;
};

}  // namespace hocket::comm
