#include "hocket/ops/kernel.h"

#include <algorithm>

#include "hocket/base/text.h"
#include "hocket/ir/world.h"

namespace hocket {

ConstView view_of(const Tensor& tensor) {
  return {tensor.type(), Layout::row_major(tensor.type().elements()), tensor.bytes().data()};
}

View view_of(Tensor& tensor) {
  return {tensor.type(), Layout::row_major(tensor.type().elements()), tensor.bytes().data()};
}

PlaceInGroup place_in_group(const Op& op, const Attributes& attributes, const World& world,
                            int rank) {
  if (!op.depends_on_rank) return {};
  const auto& group = attribute<std::string>(op, attributes, "group");
  std::vector<int> members = world.members(group, rank);
  auto at = std::ranges::find(members, rank);
  if (at == members.end()) fail("{}: rank {} is not in group {}", op.name, rank, quoted(group));
  return {at - members.begin(), static_cast<std::int64_t>(members.size())};
}

std::byte* KernelCall::scratch_bytes(std::int64_t count) {
  auto whole = static_cast<std::size_t>(rounded_to_line(count));
  if (whole > free.size())
    internal_fail("{}: wants {} bytes of scratch, {} are left", op.name, whole, free.size());
  std::byte* taken = free.data();
  free = free.subspan(whole);
  return taken;
}

}  // namespace hocket
