#pragma once
// What a start hands to the transport, with all addresses.

#include <span>
#include <string_view>
#include <vector>

#include "hocket/comm/process_group.h"
#include "hocket/ops/kernel.h"

namespace hocket {

/// One call for each dtype among the members, in the same order on all ranks, since a call has one
/// dtype. Only the first one pays the latency of a link.
struct Calls {
  std::vector<comm::CollectiveCall> calls;
  // What they refer to; moving this object moves none of it.
  std::vector<std::vector<comm::Member>> members;  // by call
  std::vector<std::vector<std::int64_t>> rows;     // of an all_to_all

  /// Of operands, or of results where there are none.
  std::int64_t bytes() const;
};

/// The calls of a collective or a barrier on these operands and results, in a group of so many
/// ranks. `name` stands in messages and must outlive the calls. Error for a value that is not
/// row-major.
Calls make_calls(const Op& op, const Attributes& attributes, std::span<const View> operands,
                 std::span<const View> results, int ranks, std::string_view name);

}  // namespace hocket
