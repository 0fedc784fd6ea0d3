#pragma once
// The meaning of an elementwise op on one element, as a small program. A body is an ordinary C++
// function over `Scalar`; calling it once writes down the program, which the interpreter runs over
// blocks of elements and code generators emit.

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "hocket/base/dtype.h"
#include "hocket/ir/op.h"

namespace hocket {

enum class ScalarCode : std::uint8_t {
  argument,
  constant,
  convert,
  add,
  sub,
  mul,
  div,
  neg,
  max,
  min,
  sqrt,
  exp,
  tanh,
  eq,
  ne,
  lt,
  le,
  select
};

/// One step: its value is register number `its position`.
struct ScalarStep {
  ScalarCode code;
  DType dtype;                   ///< of the value
  std::uint16_t inputs[3] = {};  ///< earlier steps; for `argument` the number of the operand
  double real = 0;               ///< of a floating constant
  std::int64_t integer = 0;      ///< of any other constant
};

/// Steps in order; the last one is the result.
struct ScalarProgram {
  std::vector<ScalarStep> steps;
};

/// A value in a body: a handle to a step of the program under construction.
class Scalar {
 public:
  Scalar(ScalarProgram& program, std::uint16_t step) : program_(&program), step_(step) {}
  DType dtype() const { return program_->steps[step_].dtype; }
  std::uint16_t step() const { return step_; }
  ScalarProgram& program() const { return *program_; }

 private:
  ScalarProgram* program_;
  std::uint16_t step_;
};

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator-(Scalar a);
/// A NaN on either side wins.
Scalar max(Scalar a, Scalar b);
Scalar min(Scalar a, Scalar b);
Scalar sqrt(Scalar a);
Scalar exp(Scalar a);
Scalar tanh(Scalar a);
Scalar operator==(Scalar a, Scalar b);
Scalar operator!=(Scalar a, Scalar b);
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar yes, Scalar no);
/// A constant of the dtype of `like`.
Scalar constant_like(Scalar like, double value);
inline Scalar max(Scalar a, double b) { return max(a, constant_like(a, b)); }

/// The program of `op.body` for operands and a result of these dtypes. Operands arrive in their
/// compute dtype; the result is in the compute dtype of `result`.
ScalarProgram trace(const Op& op, std::span<const DType> operands, DType result);

}  // namespace hocket
