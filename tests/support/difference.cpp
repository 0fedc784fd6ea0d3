#include "support/difference.h"

#include <fmt/core.h>

#include "hocket/codegen/reference/interpret.h"
#include "hocket/driver/shards.h"

namespace hocket::testing {
namespace {

std::string compare(std::size_t rank, const std::vector<Tensor>& p, const std::vector<Tensor>& q,
                    std::string_view what) {
  if (p.size() != q.size())
    return fmt::format("rank {}: {} {}s and {}", rank, p.size(), what, q.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    if ((p[i] || q[i]) && !same_bits(p[i], q[i]))
      return fmt::format("rank {}: {} {} differs", rank, what, i);
  return "";
}

InputTables states(const std::vector<RankResult>& results) {
  InputTables tables;
  for (const RankResult& r : results) tables.push_back(r.state);
  return tables;
}

/// Replaces the state among the inputs by `state`, and keeps the fed inputs.
void carry(InputTables& inputs, const InputTables& state) {
  for (std::size_t r = 0; r < inputs.size(); ++r)
    for (std::size_t i = 0; i < inputs[r].size(); ++i)
      if (state[r][i]) inputs[r][i] = state[r][i];
}

}  // namespace

std::string difference(const Program& a, const Program& b,
                       const std::vector<std::vector<Tensor>>& inputs, int iterations) {
  InputTables for_a = inputs, for_b = shard_state(a, b, inputs);
  Evaluator evaluator;  // most calls of b are calls of a
  for (int k = 0; k < iterations; ++k) {
    auto x = interpret(a, for_a, {.evaluator = &evaluator}),
         y = interpret(b, for_b, {.evaluator = &evaluator});
    InputTables state = states(x), pieces = states(y), whole = unshard_state(a, b, pieces);
    for (std::size_t r = 0; r < x.size(); ++r) {
      if (auto d = compare(r, x[r].outputs, y[r].outputs, "output"); !d.empty()) return d;
      if (auto d = compare(r, state[r], whole[r], "state"); !d.empty()) return d;
    }
    carry(for_a, state);
    carry(for_b, pieces);
  }
  return "";
}

}  // namespace hocket::testing
