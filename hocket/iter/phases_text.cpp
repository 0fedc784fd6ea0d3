#include "hocket/iter/phases_text.h"

#include <fmt/core.h>

#include "hocket/ir/print.h"
#include "hocket/iter/phases.h"
#include "hocket/iter/seams.h"

namespace hocket {

std::string phases_text(const Program& program) {
  check_seams(program);
  LoopShape shape = loop_shape(program);
  std::string text;
  auto show = [&](std::string_view name, Window w) {
    text += fmt::format("# {}\n{}", name, to_text(phase(program, w)));
  };
  for (int t = 0; t < shape.depth; ++t) show(fmt::format("prologue {}", t), step_window(shape, t));
  for (int t = 0; t < shape.turns; ++t)
    show(shape.turns == 1 ? "steady" : fmt::format("steady, turn {}", t),
         Window{0, shape.depth, t});
  int steps = shape.turns * (shape.depth + 1);
  for (int j = 1; j <= shape.depth; ++j)
    show(fmt::format("drain {}", j), drain_window(shape, steps, j));
  return text;
}

}  // namespace hocket
