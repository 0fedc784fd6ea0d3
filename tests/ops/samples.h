#pragma once
// The samples beside this file: small programs whose results were computed elsewhere.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket {

/// A line `in RANK NAME [..]` or `out RANK INDEX TOLERANCE [..]`.
struct Numbers {
  std::size_t rank = 0;
  std::string name;
  std::size_t index = 0;
  double tolerance = 0;
  std::vector<std::string> elements;
};

struct Sample {
  std::string file;
  int line = 0;
  std::string op, what, program;
  std::vector<Numbers> inputs, outputs;

  std::string title() const { return fmt::format("{}: line {}: {}: {}", file, line, op, what); }
};

/// From all files beside this one.
const std::vector<Sample>& all_samples();

Tensor to_tensor(const Type& type, const std::vector<std::string>& elements);

/// By rank, for every input of its graph.
std::vector<std::vector<Tensor>> inputs_of(const Sample& sample, const Program& program);

}  // namespace hocket
