#include "support/op_signatures.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ir/graph.h"

namespace hocket::testing {
namespace {

bool accepts(const Op& op, const std::vector<DType>& dtypes) {
  Graph g;
  std::vector<Value> operands;
  for (DType dtype : dtypes) operands.push_back(g.add_input({dtype, false, {}}, "x"));
  try {
    g.infer({.op = &op, .inputs = operands, .attributes = Attributes(op, {})});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::vector<DType>> signatures(const Op& op) {
  constexpr DType dtypes[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
                              DType::i32, DType::i16, DType::i8,   DType::u8,  DType::boolean};
  std::vector<std::vector<DType>> found;
  if (op.body == nullptr) return found;
  for (DType dtype : dtypes) {
    std::vector<DType> all(op.operands.size(), dtype), flagged = all;
    flagged[0] = DType::boolean;
    if (accepts(op, all)) found.push_back(all);
    if (flagged != all && accepts(op, flagged)) found.push_back(flagged);
  }
  return found;
}

bool takes_floats(const Op& op) {
  return std::ranges::any_of(signatures(op), [](const std::vector<DType>& signature) {
    return std::ranges::any_of(signature, is_float);
  });
}

}  // namespace hocket::testing
