#include "hocket/ops/scalar_steps.h"

#include <algorithm>
#include <cmath>

#include "hocket/base/error.h"

namespace hocket {
namespace {

struct Block {
  std::byte* result;
  std::array<const std::byte*, 3> operands;
  std::int64_t count;

  template <class T>
  T* out() const {
    return reinterpret_cast<T*>(result);
  }
  template <class T>
  const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(operands[i]);
  }
};

template <class T, class F>
void map1(const Block& b, F f) {
  T* to = b.out<T>();
  const T* x = b.in<T>(0);
  for (std::int64_t i = 0; i < b.count; ++i) to[i] = f(x[i]);
}

/// `f` is a lambda everywhere, as a pointer to a function may not be inlined.
template <class T, class R, class F>
void map2(const Block& b, F f) {
  R* to = b.out<R>();
  const T *x = b.in<T>(0), *y = b.in<T>(1);
  for (std::int64_t i = 0; i < b.count; ++i) to[i] = f(x[i], y[i]);
}

template <class T>
void compute(ScalarCode code, const Block& block) {
  switch (code) {
    case ScalarCode::eq:
      return map2<T, bool>(block, [](T x, T y) { return x == y; });
    case ScalarCode::ne:
      return map2<T, bool>(block, [](T x, T y) { return x != y; });
    case ScalarCode::lt:
      return map2<T, bool>(block, [](T x, T y) { return x < y; });
    case ScalarCode::le:
      return map2<T, bool>(block, [](T x, T y) { return x <= y; });
    default:
      break;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    switch (code) {
      case ScalarCode::add:
        return map2<T, T>(block, [](T x, T y) { return element_sum(x, y); });
      case ScalarCode::sub:
        return map2<T, T>(block, [](T x, T y) { return wrapping_sub(x, y); });
      case ScalarCode::mul:
        return map2<T, T>(block, [](T x, T y) { return element_product(x, y); });
      case ScalarCode::max:
        return map2<T, T>(block, [](T x, T y) { return greater_of(x, y); });
      case ScalarCode::min:
        return map2<T, T>(block, [](T x, T y) { return lesser_of(x, y); });
      case ScalarCode::sign:
        return map1<T>(block, [](T x) { return static_cast<T>((x > T(0)) - (x < T(0))); });
      case ScalarCode::floor_div:
        return map2<T, T>(block, [](T x, T y) { return floor_quotient(x, y); });
      case ScalarCode::remainder:
        return map2<T, T>(block, [](T x, T y) { return floor_remainder(x, y); });
      default:
        break;
    }
  }
  if constexpr (std::is_floating_point_v<T>)
    return compute_float<T>(code, block);
  else
    return compute_integer<T>(code, block);
}

template <class T>
void compute_float(ScalarCode code, const Block& block) {
  switch (code) {
    // For a float this flips the sign bit; 0 - x would lose the sign of zero.
    case ScalarCode::neg:
      return map1<T>(block, [](T x) { return -x; });
    case ScalarCode::abs:
      return map1<T>(block, [](T x) { return std::fabs(x); });
    case ScalarCode::div:
      return map2<T, T>(block, [](T x, T y) { return x / y; });
    case ScalarCode::pow:
      return map2<T, T>(block, [](T x, T y) { return std::pow(x, y); });
    case ScalarCode::sqrt:
      return map1<T>(block, [](T x) { return std::sqrt(x); });
    case ScalarCode::exp:
      return map1<T>(block, [](T x) { return std::exp(x); });
    case ScalarCode::expm1:
      return map1<T>(block, [](T x) { return std::expm1(x); });
    case ScalarCode::log:
      return map1<T>(block, [](T x) { return std::log(x); });
    case ScalarCode::log1p:
      return map1<T>(block, [](T x) { return std::log1p(x); });
    case ScalarCode::sin:
      return map1<T>(block, [](T x) { return std::sin(x); });
    case ScalarCode::cos:
      return map1<T>(block, [](T x) { return std::cos(x); });
    case ScalarCode::tan:
      return map1<T>(block, [](T x) { return std::tan(x); });
    case ScalarCode::atan:
      return map1<T>(block, [](T x) { return std::atan(x); });
    case ScalarCode::tanh:
      return map1<T>(block, [](T x) { return std::tanh(x); });
    case ScalarCode::erf:
      return map1<T>(block, [](T x) { return std::erf(x); });
    case ScalarCode::floor:
      return map1<T>(block, [](T x) { return std::floor(x); });
    case ScalarCode::ceil:
      return map1<T>(block, [](T x) { return std::ceil(x); });
    case ScalarCode::round:
      return map1<T>(block, [](T x) { return std::nearbyint(x); });
    case ScalarCode::trunc:
      return map1<T>(block, [](T x) { return std::trunc(x); });
    default:
      internal_fail("a scalar step that floats do not have");
  }
}

template <class T>
void compute_integer(ScalarCode code, const Block& block) {
  switch (code) {
    case ScalarCode::bit_and:
      return map2<T, T>(block, [](T x, T y) { return static_cast<T>(x & y); });
    case ScalarCode::bit_or:
      return map2<T, T>(block, [](T x, T y) { return static_cast<T>(x | y); });
    case ScalarCode::bit_xor:
      return map2<T, T>(block, [](T x, T y) { return static_cast<T>(x ^ y); });
    default:
      break;
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (code == ScalarCode::bit_not) return map1<T>(block, [](T x) { return !x; });
  } else {
    switch (code) {
      case ScalarCode::neg:
        return map1<T>(block, [](T x) { return wrapping_sub(T(0), x); });
      case ScalarCode::abs:
        return map1<T>(block, [](T x) { return x < T(0) ? wrapping_sub(T(0), x) : x; });
      case ScalarCode::bit_not:
        return map1<T>(block, [](T x) { return static_cast<T>(~x); });
      case ScalarCode::shift_left:
        return map2<T, T>(block, [](T x, T y) { return shifted_left(x, y); });
      case ScalarCode::shift_right:
        return map2<T, T>(block, [](T x, T y) { return shifted_right(x, y); });
      default:
        break;
    }
  }
  internal_fail("a scalar step that its dtype does not have");
}

template <class T>
void fill(const ScalarStep& s, const Block& b) {
  T value = std::is_floating_point_v<T> ? convert<T>(s.real) : convert<T>(s.integer);
  std::fill_n(b.out<T>(), b.count, value);
}

template <class From>
void convert_to(DType dtype, const Block& b) {
  visit_register(dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To* to = b.out<To>();
    const From* x = b.in<From>(0);
    for (std::int64_t i = 0; i < b.count; ++i) to[i] = convert<To>(x[i]);
  });
}

template <class T>
void multiply_add(const Block& b) {
  if constexpr (std::is_floating_point_v<T>) {
    T* to = b.out<T>();
    const T *x = b.in<T>(0), *y = b.in<T>(1), *z = b.in<T>(2);
    for (std::int64_t i = 0; i < b.count; ++i) to[i] = std::fma(x[i], y[i], z[i]);
  }
}

template <class T>
void choose(const Block& b) {
  T* to = b.out<T>();
  const bool* condition = b.in<bool>(0);
  const T *yes = b.in<T>(1), *no = b.in<T>(2);
  for (std::int64_t i = 0; i < b.count; ++i) to[i] = condition[i] ? yes[i] : no[i];
}

}  // namespace

void run_step(const ScalarStep& s, DType dtype, std::byte* result,
              const std::array<const std::byte*, 3>& operands, std::int64_t count) {
  Block b{result, operands, count};
  // The type of the elements that decide which loop runs.
  bool by_result = s.code == ScalarCode::constant || s.code == ScalarCode::select;
  visit_register(by_result ? s.dtype : dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (s.code) {
      case ScalarCode::constant:
        return fill<T>(s, b);
      case ScalarCode::convert:
        return convert_to<T>(s.dtype, b);
      case ScalarCode::fma:
        return multiply_add<T>(b);
      case ScalarCode::select:
        return choose<T>(b);
      default:
        return compute<T>(s.code, b);
    }
  });
}

}  // namespace hocket
