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

frontend::Recording random_recording(const Program& program, std::uint64_t seed, int ranks,
                                     std::int64_t iterations) {
  frontend::Recording recording;
  auto graph = [&](int r) -> const Graph& {
    return program.graph_of(program.world->ranks() == 1 ? 0 : r);
  };
  // One stream per input for state; behind those, one per input, rank and iteration. What is
  // carried between iterations has none: a rotated body gets the values of the body it was made of.
  std::vector<std::vector<std::uint64_t>> streams;
  std::uint64_t inputs = 0;
  for (const Graph& g : program.graphs) {
    std::uint64_t own = 0;
    auto& numbers = streams.emplace_back();
    for (const Input& in : g.inputs()) numbers.push_back(is_forwarded(g, in.value) ? own : own++);
    inputs = std::max(inputs, own);
  }
  auto stream = [&](const Graph& g, std::size_t i) {
    return streams[static_cast<std::size_t>(&g - program.graphs.data())][i];
  };
  std::vector<std::vector<Tensor>> shared(program.graphs.size());
  for (int r = 0; r < ranks; ++r) {
    const Graph& g = graph(r);
    auto& values = shared[static_cast<std::size_t>(&g - program.graphs.data())];
    for (std::size_t i = values.size(); i < g.inputs().size(); ++i) {
      const Input& in = g.inputs()[i];
      bool parameter = in.kind == StateKind::parameter;
      values.push_back(in.state && !is_forwarded(g, in.value)
                           ? draw(g.type(in.value), seed, stream(g, i), parameter ? -0.1 : 0.5,
                                  parameter ? 0.1 : 1.0)
                           : Tensor{});
    }
    recording.state.push_back(values);
  }
  for (std::int64_t k = 0; k < iterations; ++k) {
    auto& batch = recording.batches.emplace_back();
    for (int r = 0; r < ranks; ++r) {
      const Graph& g = graph(r);
      auto& fed = batch.emplace_back(g.inputs().size());
      for (std::size_t i = 0; i < g.inputs().size(); ++i) {
        const Input& in = g.inputs()[i];
        auto turn = static_cast<std::uint64_t>(k * ranks + r + 1);
        if (!in.state)
          fed[i] = draw(g.type(in.value), seed, turn * inputs + stream(g, i), -0.1, 0.1);
      }
    }
  }
  return recording;
}

}  // namespace hocket
