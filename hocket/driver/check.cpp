#include "hocket/driver/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hocket/base/element.h"
#include "hocket/base/float16.h"

namespace hocket {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Allowed {
  double relative = 0, absolute = 0;  // times the largest element, plus
};

/// The largest difference of two tensors of one type, and the largest finite element expected. The
/// difference is infinite when only one side is NaN or infinite.
struct Distance {
  double error = 0, largest = 0;
};

Distance distance(const Tensor& got, const Tensor& expected) {
  Distance d;
  visit(got.type().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = got.as<T>(), *e = expected.as<T>();
    for (std::int64_t i = 0; i < got.type().elements(); ++i) {
      auto x = static_cast<double>(load(a[i])), y = static_cast<double>(load(e[i]));
      if (std::isfinite(y)) d.largest = std::max(d.largest, std::abs(y));
      bool equal = (std::isnan(x) && std::isnan(y)) || load(a[i]) == load(e[i]);
      if (equal) continue;
      // Different large integers may be equal as doubles.
      double difference =
          is_float(got.type().dtype) ? std::abs(x - y) : std::max(1.0, std::abs(x - y));
      d.error = std::max(d.error, std::isfinite(difference) ? difference : infinity);
    }
  });
  return d;
}

class Comparer {
 public:
  void add(const std::string& name, const Tensor& got, const Tensor& expected, Allowed allowed) {
    ++result_.tensors;
    Distance d = distance(got, expected);
    bool exact = !is_float(got.type().dtype);
    double tolerance = exact ? 0 : allowed.relative * d.largest + allowed.absolute;
    double ratio = d.error == 0 ? 0 : tolerance > 0 ? d.error / tolerance : infinity;
    if (d.error > tolerance) result_.ok = false;
    if (result_.name.empty() || ratio > result_.worst) {
      result_.name = name;
      result_.error = d.error;
      result_.tolerance = tolerance;
      result_.worst = ratio;
    }
  }
  Comparison result() { return std::move(result_); }

 private:
  Comparison result_;
};

bool has_small_floats(const Program& program) {
  for (const Graph& g : program.graphs) {
    auto is_small = [&](Value v) {
      return is_float(g.type(v).dtype) && bytes(g.type(v).dtype) == 2;
    };
    for (const Input& in : g.inputs())
      if (is_small(in.value)) return true;
    for (NodeId n : g.nodes())
      for (Value v : g.results(n))
        if (is_small(v)) return true;
  }
  return false;
}

}  // namespace

std::size_t recorded_iterations(const frontend::Recording& recording) {
  return std::max({std::size_t{1}, recording.batches.size(), recording.expected.size()});
}

Comparison compare(const Program& program, const frontend::Recording& recording,
                   const Outcome& outcome) {
  Comparer comparer;
  bool small = has_small_floats(program);
  Allowed number = small ? Allowed{1e-3, 1e-12} : Allowed{1e-5, 1e-12};
  Allowed tensor = small ? Allowed{2e-2, 1e-12} : Allowed{1e-4, 1e-12};
  Allowed state = small ? Allowed{5e-2, 1e-5} : Allowed{3e-4, 3e-6};
  std::size_t iterations = std::min(recording.expected.size(), outcome.outputs.size());
  for (std::size_t k = 0; k < iterations; ++k)
    for (std::size_t r = 0; r < outcome.outputs[k].size() && r < recording.expected[k].size();
         ++r) {
      const auto& expected = recording.expected[k][r];
      std::vector<Output> outputs = program.graph_of(static_cast<int>(r)).outputs();
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (expected[i])
          comparer.add(fmt::format("{} (iteration {}, rank {})", outputs[i].name, k, r),
                       outcome.outputs[k][r][i].value, expected[i],
                       expected[i].type().elements() == 1 ? number : tensor);
    }
  bool all = outcome.outputs.size() == recorded_iterations(recording);
  for (std::size_t r = 0; all && r < recording.final_state.size(); ++r) {
    const Graph& g = program.graph_of(static_cast<int>(r));
    for (std::size_t i = 0; i < recording.final_state[r].size(); ++i) {
      const Tensor& expected = recording.final_state[r][i];
      if (!expected) continue;
      const Input& in = g.inputs()[i];
      std::string name = in.names.empty() ? "%" + g.name(in.value) : in.names[0];
      comparer.add(fmt::format("{} (rank {})", name, r), outcome.state[r][i], expected, state);
    }
  }
  return comparer.result();
}

}  // namespace hocket
