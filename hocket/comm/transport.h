#pragma once
// The connection between the ranks of a world, as seen by one process.

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
  /// The first failure in the world.
  struct Failure {
    std::optional<int> rank;  ///< the rank that failed; none if calls of several ranks disagree
    std::string message;
  };

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int ranks() const = 0;  ///< of the world, in all processes
  virtual LaunchOrder launch_order() const { return LaunchOrder::per_group; }
  virtual std::span<const int> hosted() const = 0;  ///< by this process: at least one, ascending

  /// The end of a hosted rank in a group. Calls with the same name and list of ranks give ends of
  /// the same group. Any thread may call this, but only the rank's own thread may use the result.
  /// It must be destroyed before close().
  virtual std::unique_ptr<ProcessGroup> group(int rank, const std::string& name,
                                              std::span<const int> ranks) = 0;
  /// The group "world" of all ranks.
  std::unique_ptr<ProcessGroup> all(int rank);

  /// Reports that a hosted rank has failed. Callable from any thread. The first failure counts.
  virtual void fail(int rank, const std::exception_ptr& cause) = 0;
  virtual std::optional<Failure> failure() const = 0;
  /// What a rank is doing, for messages of ranks that wait for it: `waits in ... for rank 2, which
  /// ...` in a long wait. Callable from any thread.
  virtual std::string doing(int rank) const = 0;

  /// To be called when hosted ranks create no more groups. Returns when no rank elsewhere needs
  /// this process any more, or when the world has failed. InternalError while a hosted rank still
  /// has a group.
  virtual void close() = 0;
};

}  // namespace hocket::comm
