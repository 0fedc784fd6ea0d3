#pragma once
// The meaning of an elementwise op on one element, as a small program. A body is an ordinary C++
// function over `Scalar`; calling it once traces the program, which `run_elementwise` runs over
// blocks of elements.

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
  // numbers
  add,
  sub,
  mul,
  neg,
  max,
  min,
  abs,
  sign,
  // floats
  div,
  sqrt,
  exp,
  expm1,
  log,
  log1p,
  pow,
  sin,
  cos,
  tan,
  atan,
  tanh,
  erf,
  floor,
  ceil,
  round,
  trunc,
  fma,
  // integers, and bool where it makes sense
  floor_div,
  remainder,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  // to bool
  eq,
  ne,
  lt,
  le,
  select,
};

/// One step. Its value is in the register with the number of its position.
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
/// NaN if either operand is NaN.
Scalar max(Scalar a, Scalar b);
Scalar min(Scalar a, Scalar b);
Scalar abs(Scalar a);
/// -1, 0 or 1; 0 for a NaN.
Scalar sign(Scalar a);
Scalar sqrt(Scalar a);
Scalar exp(Scalar a);
Scalar expm1(Scalar a);
Scalar log(Scalar a);
Scalar log1p(Scalar a);
Scalar pow(Scalar a, Scalar b);
Scalar sin(Scalar a);
Scalar cos(Scalar a);
Scalar tan(Scalar a);
Scalar atan(Scalar a);
Scalar tanh(Scalar a);
Scalar erf(Scalar a);
Scalar floor(Scalar a);
Scalar ceil(Scalar a);
/// To the nearest integer, halves to the even one.
Scalar round(Scalar a);
Scalar trunc(Scalar a);
/// a * b + c, rounded once.
Scalar fma(Scalar a, Scalar b, Scalar c);
/// Towards minus infinity; an integer divided by zero is zero.
Scalar floor_div(Scalar a, Scalar b);
/// a - floor(a / b) * b, which has the sign of b; for an integer divided by zero it is zero.
Scalar remainder(Scalar a, Scalar b);
Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar operator^(Scalar a, Scalar b);
Scalar operator~(Scalar a);
/// By the width or more, or by a negative number: 0, but -1 for `>>` of a negative number.
Scalar operator<<(Scalar a, Scalar b);
Scalar operator>>(Scalar a, Scalar b);
Scalar operator==(Scalar a, Scalar b);
Scalar operator!=(Scalar a, Scalar b);
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar yes, Scalar no);

/// A constant of the dtype of `like`.
Scalar constant_like(Scalar like, double value);
inline Scalar operator+(Scalar a, double b) { return a + constant_like(a, b); }
inline Scalar operator+(double a, Scalar b) { return constant_like(b, a) + b; }
inline Scalar operator-(Scalar a, double b) { return a - constant_like(a, b); }
inline Scalar operator-(double a, Scalar b) { return constant_like(b, a) - b; }
inline Scalar operator*(Scalar a, double b) { return a * constant_like(a, b); }
inline Scalar operator*(double a, Scalar b) { return constant_like(b, a) * b; }
inline Scalar operator/(Scalar a, double b) { return a / constant_like(a, b); }
inline Scalar operator/(double a, Scalar b) { return constant_like(b, a) / b; }
inline Scalar max(Scalar a, double b) { return max(a, constant_like(a, b)); }
inline Scalar min(Scalar a, double b) { return min(a, constant_like(a, b)); }
inline Scalar operator<(Scalar a, double b) { return a < constant_like(a, b); }
inline Scalar operator<(double a, Scalar b) { return constant_like(b, a) < b; }
inline Scalar operator<=(Scalar a, double b) { return a <= constant_like(a, b); }
inline Scalar operator<=(double a, Scalar b) { return constant_like(b, a) <= b; }

/// The program of `op.body` for operands and a result of these dtypes. Operands
/// arrive in their compute dtype; the result is in the compute dtype of
/// `result`.
ScalarProgram trace(const Op& op, std::span<const DType> operands, DType result);

}  // namespace hocket
