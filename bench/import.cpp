// How long the import of a captured training step takes, and how that grows with its nodes.
//
// Bars: 100K nodes in 2 s and time ~ n^e with e <= 1.25; of the steps in the folder of further
// data, those of a small network in 0.1 s and those of a large sharded network in 0.3 s.

#include "hocket/frontend/import.h"

#include <fmt/core.h>
#include <malloc.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/driver/load.h"
#include "hocket/frontend/formats/capture.h"
#include "hocket/ir/verify.h"
#include "measure.h"
#include "sentinel.h"

namespace hocket::bench {
namespace {

constexpr double most_seconds = 2, most_exponent = 1.25;

struct Size {
  const char* name;
  int nodes;
};
constexpr Size sizes[] = {{"10K nodes", 10'000}, {"31K nodes", 31'623}, {"100K nodes", 100'000}};

struct Data {
  const char* path;
  double most;  // limit in seconds; 0: no limit
};
constexpr Data data[] = {{"captures/mobilenet", 0.1},
                         {"captures/resnet", 0},
                         {"graphs/gpt2_124m", 0},
                         {"graphs/llama8b_fsdp", 0.3}};

// ---- a training step as text: layers of a residual network, their gradients, one collective for
// each parameter, and updates in place

constexpr int width = 64, batch = 16;
constexpr int nodes_per_layer = 26;

class Writer {
 public:
  void placeholder(const std::string& name, const char* kind, const std::string& shape) {
    begin(name, "placeholder");
    to(R"(, "target": "{}", "kind": "{}", "args": [], "kwargs": {{}})", name, kind);
    end(shape);
  }
  /// Arguments and keyword arguments are JSON without the brackets.
  void call(const std::string& name, const char* target, const std::string& args,
            const std::string& shape, const std::string& kwargs = "") {
    begin(name, "call_function");
    to(R"(, "target": "{}", "args": [{}], "kwargs": {{{}}})", target, args, kwargs);
    end(shape);
  }
  std::string finish(const std::string& result) {
    begin("output", "output");
    to(R"(, "target": "output", "args": [[{}]], "kwargs": {{}}, "meta": null}}]}})", result);
    return std::move(text_);
  }

 private:
  template <class... A>
  void to(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(arguments)...);
  }
  void begin(const std::string& name, const char* op) {
    to(R"({}{{"name": "{}", "op": "{}")", first_ ? "" : ",\n", name, op);
    first_ = false;
  }
  void end(const std::string& shape) {
    to(R"(, "meta": {{"dtype": "float32", "shape": [{}]}}}})", shape);
  }

  std::string text_ = R"({"format": "fx-capture", "version": 1, "world_size": 2, "nodes": [)";
  bool first_ = true;
};

/// A reference to a node.
std::string of(const std::string& name, int layer = -1) {
  return fmt::format(R"({{"node": "{}{}"}})", name, layer < 0 ? "" : fmt::format("_{}", layer));
}

void write_forward(Writer& w, int i, const std::string& rows, const std::string& square) {
  auto name = [&](const char* n) { return fmt::format("{}_{}", n, i); };
  w.call(name("t"), "aten.t.default", of("w", i), square);
  w.call(name("linear"), "aten.addmm.default",
         fmt::format("{}, {}, {}", of("b", i), of("x", i), of("t", i)), rows);
  w.call(name("gelu"), "aten.gelu.default", of("linear", i), rows);
  w.call(fmt::format("x_{}", i + 1), "aten.add.Tensor",
         fmt::format("{}, {}", of("x", i), of("gelu", i)), rows);
}

void write_backward(Writer& w, int i, const std::string& rows, const std::string& square,
                    const std::string& vector) {
  auto name = [&](const char* n) { return fmt::format("{}_{}", n, i); };
  auto two = [&](const char* a, const char* b) {
    return fmt::format("{}, {}", of(a, i), of(b, i));
  };
  std::string g = of("g", i + 1);
  w.call(name("dlinear"), "aten.gelu_backward.default", fmt::format("{}, {}", g, of("linear", i)),
         rows);
  w.call(name("dsum"), "aten.sum.dim_IntList", of("dlinear", i) + ", [0], true", "1, " + vector);
  w.call(name("db"), "aten.view.default", fmt::format("{}, [{}]", of("dsum", i), vector), vector);
  w.call(name("dt"), "aten.t.default", of("dlinear", i), fmt::format("{}, {}", width, batch));
  w.call(name("dw"), "aten.mm.default", two("dt", "x"), square);
  w.call(name("dx"), "aten.mm.default", two("dlinear", "w"), rows);
  w.call(name("g"), "aten.add.Tensor", fmt::format("{}, {}", g, of("dx", i)), rows);
  for (auto [what, shape] : {std::pair("dw", square), std::pair("db", vector)}) {
    std::string prefix = fmt::format("{}_{}", what, i);
    w.call(prefix + "_started", "_c10d_functional.all_reduce.default",
           fmt::format(R"({}, "sum", "0")", of(prefix)), shape);
    w.call(prefix + "_there", "_c10d_functional.wait_tensor.default", of(prefix + "_started"),
           shape);
    w.call(prefix + "_mean", "aten.div.Tensor", of(prefix + "_there") + ", 2", shape);
  }
}

void write_update(Writer& w, int i, const std::string& square, const std::string& vector) {
  auto name = [&](const char* n) { return fmt::format("{}_{}", n, i); };
  std::string dw = of(fmt::format("dw_{}_mean", i)), db = of(fmt::format("db_{}_mean", i));
  w.call(name("decay"), "aten.mul_.Tensor", of("m", i) + R"(, {"float": 0.9})", square);
  w.call(name("momentum"), "aten.add_.Tensor", fmt::format("{}, {}", of("decay", i), dw), square);
  w.call(name("w_new"), "aten.add_.Tensor", fmt::format("{}, {}", of("w", i), of("momentum", i)),
         square, R"("alpha": {"float": -0.01})");
  w.call(name("row"), "aten.view.default", fmt::format("{}, [1, {}]", of("b", i), width),
         fmt::format("1, {}", width));
  w.call(name("change"), "aten.mul.Tensor", db + R"(, {"float": 0.01})", vector);
  w.call(name("b_new"), "aten.sub_.Tensor", fmt::format("{}, {}", of("row", i), of("change", i)),
         fmt::format("1, {}", width));
}

std::string make_capture(int nodes) {
  int layers = nodes / nodes_per_layer;
  std::string rows = fmt::format("{}, {}", batch, width), vector = std::to_string(width);
  std::string square = fmt::format("{}, {}", width, width);
  Writer w;
  for (int i = 0; i < layers; ++i) {
    w.placeholder(fmt::format("w_{}", i), "parameter", square);
    w.placeholder(fmt::format("b_{}", i), "parameter", vector);
    w.placeholder(fmt::format("m_{}", i), "optimizer_state", square);
  }
  w.placeholder("x_0", "input", rows);
  for (int i = 0; i < layers; ++i) write_forward(w, i, rows, square);
  w.call("loss", "aten.mean.default", of("x", layers), "");
  w.call(fmt::format("g_{}", layers), "aten.full_like.default", of("x", layers) + ", 0.001", rows);
  for (int i = layers - 1; i >= 0; --i) write_backward(w, i, rows, square, vector);
  for (int i = 0; i < layers; ++i) write_update(w, i, square, vector);
  return w.finish(of("loss"));
}

/// Every sample starts with empty caches. Otherwise small graphs would be measured in cache and
/// large ones in memory, and the exponent would depend on the machine.
double import_seconds(const std::string& text) {
  static std::vector<char> ballast(128 << 20);
  for (std::size_t i = 0; i < ballast.size(); i += 64) ++ballast[i];
  double start = thread_seconds();
  frontend::Imported imported = frontend::translate(frontend::read_capture(text, "capture"));
  verify(imported.program);
  return thread_seconds() - start;
}

/// Slope of log time over log nodes between the smallest and the largest.
double exponent(const std::vector<Measured>& measured) {
  double from = sizes[0].nodes, to = sizes[std::size(sizes) - 1].nodes;
  return std::log(measured[std::size(sizes) - 1].median / measured[0].median) / std::log(to / from);
}

int run() {
  std::vector<std::string> texts;
  std::vector<Variant> variants;
  for (const Size& size : sizes) {
    texts.push_back(make_capture(size.nodes));
    auto found = static_cast<double>(frontend::read_capture(texts.back(), "capture").nodes.size());
    if (std::abs(found / size.nodes - 1) > 0.01)
      internal_fail("{}: found {} nodes", size.name, found);
  }
  for (std::size_t i = 0; i < texts.size(); ++i)
    variants.push_back({sizes[i].name, [&texts, i] { return import_seconds(texts[i]); }});
  std::vector<Data> there;
  for (const Data& d : data)
    if (std::filesystem::exists(std::filesystem::path(HOCKET_DATA) / d.path)) {
      there.push_back(d);
      variants.push_back({d.path, [d] {
                            auto path = std::filesystem::path(HOCKET_DATA) / d.path;
                            return load_step(path.string()).import_seconds;
                          }});
    }
  fmt::print("\nimport of captured steps\n");
  std::vector<Measured> measured = measure(variants, {.samples = 7, .progress = "import"});
  print_table(measured);

  Bars bars;
  double e = exponent(measured);
  bars.expect(e <= most_exponent, "growth", fmt::format("exponent {:.2f}", e),
              fmt::format("at most {}", most_exponent));
  const Measured& largest = measured[std::size(sizes) - 1];
  bars.expect(largest.median < most_seconds, largest.name, time_text(largest.median),
              "under " + time_text(most_seconds));
  for (std::size_t i = 0; i < there.size(); ++i)
    if (const Measured& m = measured[std::size(sizes) + i]; there[i].most > 0)
      bars.expect(m.median < there[i].most, m.name, time_text(m.median),
                  "under " + time_text(there[i].most));
  return bars.exit_code();
}

}  // namespace
}  // namespace hocket::bench

int main() {
  // Keeps freed memory in the process: getting it from the system again is not part of an import.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  hocket::bench::print_machine(hocket::bench::probe());
  return hocket::bench::run();
}
