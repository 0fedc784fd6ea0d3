#include "hocket/driver/random_inputs.h"

#include <algorithm>

#include "hocket/base/element.h"
#include "hocket/iter/lags.h"
#include "hocket/ops/philox.h"

namespace hocket {
namespace {

Tensor draw(const Type& type, std::uint64_t seed, std::uint64_t stream, double low, double high) {
  Tensor t(type);
  bool integer = !is_float(type.dtype);
  visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < type.elements(); ++i) {
      double u = unit_uniform(
          random_block(static_cast<std::int64_t>(seed), static_cast<std::int64_t>(stream),
                       static_cast<std::uint64_t>(i)),
          24);
      double value = integer ? (u < 0.5 ? 0.0 : 1.0) : low + u * (high - low);
      t.as<T>()[i] = store<T>(value);
    }
  });
  return t;
}

}  // namespace

RandomInputs::RandomInputs(const Program& program, std::uint64_t seed, int ranks)
    : program_(program), seed_(seed), ranks_(ranks) {
  for (const Graph& g : program.graphs) {
    std::uint64_t own = 0;
    auto& numbers = streams_.emplace_back();
    for (const Input& in : g.inputs()) numbers.push_back(is_forwarded(g, in.value) ? own : own++);
    inputs_ = std::max(inputs_, own);
  }
}

InputTables RandomInputs::state() const {
  // For a shard the whole value is generated, so that a program with sharded state starts like its
  // source.
  InputTables by_graph;
  for (std::size_t number = 0; number < program_.graphs.size(); ++number) {
    const Graph& g = program_.graphs[number];
    auto& values = by_graph.emplace_back(g.inputs().size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Input& in = g.inputs()[i];
      if (!in.state || is_forwarded(g, in.value)) continue;
      auto [low, high] =
          in.kind == StateKind::parameter ? std::pair{-0.1, 0.1} : std::pair{0.5, 1.0};
      values[i] =
          draw(in.shard ? in.shard->type : g.type(in.value), seed_, stream(number, i), low, high);
    }
  }
  InputTables by_rank;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks_); ++r) {
    std::size_t number = program_.graph_index(static_cast<int>(r));
    const Graph& g = program_.graphs[number];
    auto& values = by_rank.emplace_back(by_graph[number]);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const Input& in = g.inputs()[i]; in.shard)
        values[i] = piece_of(values[i], *program_.world, in.shard->group, r, g.type(in.value));
  }
  return by_rank;
}

InputTables RandomInputs::batch(std::int64_t iteration) const {
  InputTables batch;
  for (int r = 0; r < ranks_; ++r) {
    std::size_t number = program_.graph_index(r);
    const Graph& g = program_.graphs[number];
    auto& fed = batch.emplace_back(g.inputs().size());
    auto turn = static_cast<std::uint64_t>(iteration * ranks_ + r + 1);
    for (std::size_t i = 0; i < fed.size(); ++i)
      if (const Input& in = g.inputs()[i]; !in.state)
        fed[i] = draw(g.type(in.value), seed_, turn * inputs_ + stream(number, i), -0.1, 0.1);
  }
  return batch;
}

}  // namespace hocket
