#include "hocket/ops/scalar.h"

namespace hocket {
namespace {

Scalar emit(ScalarProgram& program, ScalarStep step) {
  program.steps.push_back(step);
  return {program, static_cast<std::uint16_t>(program.steps.size() - 1)};
}

Scalar unary(ScalarCode code, Scalar a) {
  return emit(a.program(), {.code = code, .dtype = a.dtype(), .inputs = {a.step()}});
}

Scalar binary(ScalarCode code, Scalar a, Scalar b) {
  return emit(a.program(), {.code = code, .dtype = a.dtype(), .inputs = {a.step(), b.step()}});
}

Scalar comparison(ScalarCode code, Scalar a, Scalar b) {
  return emit(a.program(), {.code = code, .dtype = DType::boolean, .inputs = {a.step(), b.step()}});
}

}  // namespace

Scalar operator+(Scalar a, Scalar b) { return binary(ScalarCode::add, a, b); }
Scalar operator-(Scalar a, Scalar b) { return binary(ScalarCode::sub, a, b); }
Scalar operator*(Scalar a, Scalar b) { return binary(ScalarCode::mul, a, b); }
Scalar operator/(Scalar a, Scalar b) { return binary(ScalarCode::div, a, b); }
Scalar operator&(Scalar a, Scalar b) { return binary(ScalarCode::bit_and, a, b); }
Scalar operator|(Scalar a, Scalar b) { return binary(ScalarCode::bit_or, a, b); }
Scalar operator^(Scalar a, Scalar b) { return binary(ScalarCode::bit_xor, a, b); }
Scalar operator<<(Scalar a, Scalar b) { return binary(ScalarCode::shift_left, a, b); }
Scalar operator>>(Scalar a, Scalar b) { return binary(ScalarCode::shift_right, a, b); }
Scalar operator-(Scalar a) { return unary(ScalarCode::neg, a); }
Scalar operator~(Scalar a) { return unary(ScalarCode::bit_not, a); }
Scalar max(Scalar a, Scalar b) { return binary(ScalarCode::max, a, b); }
Scalar min(Scalar a, Scalar b) { return binary(ScalarCode::min, a, b); }
Scalar pow(Scalar a, Scalar b) { return binary(ScalarCode::pow, a, b); }
Scalar floor_div(Scalar a, Scalar b) { return binary(ScalarCode::floor_div, a, b); }
Scalar remainder(Scalar a, Scalar b) { return binary(ScalarCode::remainder, a, b); }
Scalar abs(Scalar a) { return unary(ScalarCode::abs, a); }
Scalar sign(Scalar a) { return unary(ScalarCode::sign, a); }
Scalar sqrt(Scalar a) { return unary(ScalarCode::sqrt, a); }
Scalar exp(Scalar a) { return unary(ScalarCode::exp, a); }
Scalar expm1(Scalar a) { return unary(ScalarCode::expm1, a); }
Scalar log(Scalar a) { return unary(ScalarCode::log, a); }
Scalar log1p(Scalar a) { return unary(ScalarCode::log1p, a); }
Scalar sin(Scalar a) { return unary(ScalarCode::sin, a); }
Scalar cos(Scalar a) { return unary(ScalarCode::cos, a); }
Scalar tan(Scalar a) { return unary(ScalarCode::tan, a); }
Scalar atan(Scalar a) { return unary(ScalarCode::atan, a); }
Scalar tanh(Scalar a) { return unary(ScalarCode::tanh, a); }
Scalar erf(Scalar a) { return unary(ScalarCode::erf, a); }
Scalar floor(Scalar a) { return unary(ScalarCode::floor, a); }
Scalar ceil(Scalar a) { return unary(ScalarCode::ceil, a); }
Scalar round(Scalar a) { return unary(ScalarCode::round, a); }
Scalar trunc(Scalar a) { return unary(ScalarCode::trunc, a); }
Scalar operator==(Scalar a, Scalar b) { return comparison(ScalarCode::eq, a, b); }
Scalar operator!=(Scalar a, Scalar b) { return comparison(ScalarCode::ne, a, b); }
Scalar operator<(Scalar a, Scalar b) { return comparison(ScalarCode::lt, a, b); }
Scalar operator<=(Scalar a, Scalar b) { return comparison(ScalarCode::le, a, b); }

Scalar fma(Scalar a, Scalar b, Scalar c) {
  return emit(
      a.program(),
      {.code = ScalarCode::fma, .dtype = a.dtype(), .inputs = {a.step(), b.step(), c.step()}});
}

Scalar select(Scalar condition, Scalar yes, Scalar no) {
  return emit(yes.program(), {.code = ScalarCode::select,
                              .dtype = yes.dtype(),
                              .inputs = {condition.step(), yes.step(), no.step()}});
}

Scalar constant_like(Scalar like, double value) {
  return emit(like.program(), {.code = ScalarCode::constant,
                               .dtype = like.dtype(),
                               .real = value,
                               .integer = static_cast<std::int64_t>(value)});
}

ScalarProgram trace(const Op& op, std::span<const DType> operands, DType result) {
  ScalarProgram program;
  std::vector<Scalar> arguments;
  for (std::size_t i = 0; i < operands.size(); ++i)
    arguments.push_back(emit(program, {.code = ScalarCode::argument,
                                       .dtype = row(operands[i]).compute,
                                       .inputs = {static_cast<std::uint16_t>(i)}}));
  Scalar value = op.body(arguments);
  DType wanted = row(result).compute;
  bool last = value.step() + 1u == program.steps.size();
  if (value.dtype() != wanted || !last)
    emit(program, {.code = ScalarCode::convert, .dtype = wanted, .inputs = {value.step()}});
  return program;
}

}  // namespace hocket
