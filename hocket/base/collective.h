#pragma once
// The properties of each kind of collective, used by all layers.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hocket {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  send,
  recv,
  barrier
};

enum class Reduce : std::uint8_t { sum, avg, min, max, product };

/// In which order a transport completes the transfers of a rank.
enum class LaunchOrder : std::uint8_t {
  /// Those of one set of ranks, or of one pair, in the order of their starts: in-process, MPI.
  per_group,
  /// All of a rank in the order of their starts, whatever their groups: NCCL on one device.
  total,
};
std::string_view name(LaunchOrder order);

/// The number of elements of a result, for an operand of `count` elements in a group of n ranks.
enum class ResultSize : std::uint8_t {
  equal,     ///< count
  gathered,  ///< count * n
  piece,     ///< count / n
  by_rows    ///< given by the lists of rows
};

/// The properties of one kind of collective.
struct Collective {
  CollectiveKind kind;
  std::string_view name;
  /// The attribute that names a rank by its index in the group: the root, or the other end of a
  /// point-to-point transfer. Empty when no rank is special.
  std::string_view peer = {};
  /// A transfer between this rank and its peer alone.
  bool point_to_point = false;
  /// Combines the elements of all ranks by the reduction named in the call.
  bool reduces = false;
  /// All ranks of the group get the same values.
  bool same_on_all = false;
  /// Element i of a result depends only on elements i of the operands. So the call may be split
  /// anywhere along its elements, and a result may overwrite its operand.
  bool elementwise = false;
  ResultSize result = ResultSize::equal;
  /// Bytes that pass the link of each rank, as a multiple of the bytes of its operand, in a group
  /// of n > 1 ranks: `link_whole + (link_pieces * (n - 1)) / n + link_others * (n - 1)`.
  double link_whole = 0, link_pieces = 0, link_others = 0;

  bool rooted() const { return !peer.empty() && !point_to_point; }
};

inline constexpr std::array<Collective, 9> collective_table{{
    {.kind = CollectiveKind::all_reduce,
     .name = "all_reduce",
     .reduces = true,
     .same_on_all = true,
     .elementwise = true,
     .link_pieces = 2},
    {.kind = CollectiveKind::reduce,
     .name = "reduce",
     .peer = "root",
     .reduces = true,
     .elementwise = true,
     .link_whole = 1},
    {.kind = CollectiveKind::all_gather,
     .name = "all_gather",
     .same_on_all = true,
     .result = ResultSize::gathered,
     .link_others = 1},
    {.kind = CollectiveKind::reduce_scatter,
     .name = "reduce_scatter",
     .reduces = true,
     .result = ResultSize::piece,
     .link_pieces = 1},
    {.kind = CollectiveKind::all_to_all,
     .name = "all_to_all",
     .result = ResultSize::by_rows,
     .link_pieces = 1},
    {.kind = CollectiveKind::broadcast,
     .name = "broadcast",
     .peer = "root",
     .same_on_all = true,
     .elementwise = true,
     .link_whole = 1},
    {.kind = CollectiveKind::send,
     .name = "send",
     .peer = "to",
     .point_to_point = true,
     .link_whole = 1},
    {.kind = CollectiveKind::recv,
     .name = "recv",
     .peer = "from",
     .point_to_point = true,
     .link_whole = 1},
    {.kind = CollectiveKind::barrier, .name = "barrier"},
}};

constexpr const Collective& facts(CollectiveKind kind) {
  return collective_table[static_cast<std::size_t>(kind)];
}
constexpr std::string_view name(CollectiveKind kind) { return facts(kind).name; }

std::string_view name(Reduce reduce);
std::span<const std::string_view> reduce_names();
std::optional<Reduce> find_reduce(std::string_view name);

/// Bytes that pass the link of each rank of a group of `size`, for an operand of `bytes` (the
/// result, for recv). Counted for a ring algorithm: an all-reduce has two halves, and each passes
/// all pieces but one.
double link_bytes(CollectiveKind kind, std::int64_t size, double bytes);

}  // namespace hocket
