// The part of type inference that is the same for all ops.

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/op.h"

namespace hocket {
namespace {

/// Throws Error unless the number of operands of each slot fits the record.
void check_operand_counts(const Op& op, std::size_t count, std::span<const std::uint32_t> sizes) {
  auto refuse = [&](const OperandSpec& spec, std::size_t found) {
    bool fits = spec.count == Count::one        ? found == 1
                : spec.count == Count::optional ? found <= 1
                                                : found >= spec.at_least;
    if (!fits)
      fail("{}: found {} for '{}', wanted {}", op.name,
           count_of(static_cast<std::int64_t>(found), "operand"), spec.name,
           spec.count == Count::one        ? "one"
           : spec.count == Count::optional ? "at most one"
                                           : fmt::format("at least {}", spec.at_least));
  };
  if (op.operands.size() == 1) return refuse(op.operands[0], count);
  if (!op.writes_lists()) {
    if (count != op.operands.size())
      fail("{}: found {}, wanted {}", op.name,
           count_of(static_cast<std::int64_t>(count), "operand"), op.operands.size());
    return;
  }
  std::size_t total = 0;
  for (std::uint32_t size : sizes) total += size;
  if (sizes.size() != op.operands.size() || total != count)
    fail("{}: the operand lists do not add up to {}", op.name, count);
  for (std::size_t i = 0; i < sizes.size(); ++i) refuse(op.operands[i], sizes[i]);
}

}  // namespace

std::vector<Type> infer_types(const InferCall& call) {
  check_operand_counts(call.op, call.inputs.size(), call.attributes.list_sizes());
  if (call.op.has_region != (call.region != nullptr))
    fail("{}: {} a region", call.op.name, call.op.has_region ? "needs" : "cannot have");
  std::vector<Type> types = call.op.infer(call);
  for (const Type& t : types)
    if (!count_elements(t.shape)) fail("{}: the result {} is too large", call.op.name, to_text(t));
  if (call.written.empty()) return types;
  if (types.size() != call.written.size())
    fail("{}: found {}, wanted {}", call.op.name,
         count_of(static_cast<std::int64_t>(call.written.size()), "result"), types.size());
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i] != call.written[i])
      fail("{}: type written {}, inferred {}", call.op.name, to_text(call.written[i]),
           to_text(types[i]));
  return types;
}

}  // namespace hocket
