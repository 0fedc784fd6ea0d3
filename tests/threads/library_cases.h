#pragma once
// Calls that the library backend is tried on: one node each, with values for its operands.

#include <string>
#include <vector>

#include "hocket/codegen/backend.h"
#include "hocket/ir/program.h"

namespace hocket {

/// Numbers in [-1, 1) without a pattern.
Tensor numbers(const Type& type, std::uint32_t seed);

struct Case {
  Program program;
  NodeId node;
  std::vector<Tensor> inputs;
  std::vector<Type> operands, results;

  /// Two operands of these types, and the call that reads them as %a and %b.
  Case(const std::string& a, const std::string& b, const std::string& type,
       const std::string& call);

  const Node& call() const { return program.graphs[0][node]; }
  KernelSpec spec() const;
  /// By the reference kernel.
  Tensor plain() const;
  /// By the backend; empty where it declines.
  Tensor by(Backend& backend) const;
  std::string title() const;
};

std::vector<Case> matmuls(const std::string& dtype);

/// A convolution by its window; sizes of the other tensors follow.
struct ConvWindow {
  std::int64_t batch, groups, in, out;  // channels in all
  Ints size, kernel, stride = {}, padding = {}, dilation = {}, output_padding = {};
  bool transposed = false;
};

/// The convolution itself and, where it is not transposed, both gradients. None where the window is
/// larger than the image.
std::vector<Case> cases_of(const ConvWindow& window, const std::string& dtype);
/// Of many windows: in one to three dimensions, with groups, odd channels, strides and dilations.
std::vector<Case> convolutions(const std::string& dtype);

}  // namespace hocket
