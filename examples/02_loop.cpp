// A training loop whose last gradient is waited for in the next iteration. The same losses and the
// same parameters come out, to the bit; only the time changes when things happen.

#include <cstdio>

#include "hocket/comm/in_process.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/iter/phases_text.h"
#include "hocket/ops/ops.h"
#include "hocket/runtime/loop.h"
#include "hocket/runtime/ranks.h"

using namespace hocket;

namespace {

constexpr std::string_view text = R"(mesh(dp=2)
graph step(%w: state f32[4] "w" parameter, %x: f32[4] "x") {
  %y: f32[4] = mul(%w, %x)
  %loss: f32[] = sum(%y) {dims=[0]}
  %g: f32[4] = mul(%y, %x)
  %h: pending f32[4] = all_reduce(%g) {group="dp", reduce="avg"}
  %s: f32[4] = wait(%h)
  %u: f32[4] = sub(%w, %s)
  next %w = %u
  return loss=%loss
}
)";

Tensor four(float first) {
  Tensor t(Type{DType::f32, false, {4}});
  for (int i = 0; i < 4; ++i) t.as<float>()[i] = first + 0.1f * static_cast<float>(i);
  return t;
}

/// Five iterations, with a look at the parameter after the third.
std::vector<float> train(const Program& program) {
  comm::InProcess transport(program.world->ranks());  // ranks are threads
  Ranks ranks(program, transport);
  Loop loop(ranks, {{four(1), {}}, {four(1), {}}});  // by rank and input: %w, %x
  std::vector<float> seen;
  for (int k = 0; k < 5; ++k) {
    float x = 0.1f * static_cast<float>(k + 1);
    InputTables batch{{{}, four(x)}, {{}, four(-x)}};
    for (const Produced& p : loop.step(batch)) seen.push_back(p.value.as<float>()[0]);
    if (k == 2) {
      (void)loop.drain();  // a checkpoint: what is late is done now
      seen.push_back(loop.state()[0][0].as<float>()[0]);
    }
  }
  (void)loop.finish();
  seen.push_back(loop.state()[1][0].as<float>()[3]);
  return seen;
}

}  // namespace

int main() {
  Program plain = parse(text, ops::all()), moved = plain;
  compile(moved, {.passes = "cross-iteration:delay=all"});
  std::printf("%s\n", phases_text(moved).c_str());
  std::vector<float> a = train(plain), b = train(moved);
  for (std::size_t i = 0; i < a.size(); ++i) std::printf("%g %g\n", a[i], b[i]);
  bool equal = a == b;
  std::printf("%s\n", equal ? "equal" : "DIFFERENT");
  return equal ? 0 : 1;
}
