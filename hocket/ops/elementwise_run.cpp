// Runs traced bodies over blocks of elements: one short loop per step and block, so that the
// dispatch of a step is paid once for a few hundred elements.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hocket/base/element.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/scalar.h"

namespace hocket {
namespace {

constexpr std::int64_t block = 512;

/// A block of values: a buffer of its own or, where a tensor already holds them in the compute
/// dtype, a pointer into that tensor.
struct alignas(64) Register {
  std::byte own[block * 8];
  std::byte* at = own;
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(at);
  }
};

/// True when elements compute in the form in which they are stored.
template <class T>
constexpr bool computes_as_stored = std::is_same_v<T, Compute<T>>;

/// Calls f with the register type of a compute dtype; bool is a C++ bool there.
template <class F>
void visit_register(DType dtype, F&& f) {
  visit(dtype, [&](auto tag) { f(Tag<Compute<typename decltype(tag)::type>>{}); });
}

template <class T, class F>
void map1(Register& out, Register& a, std::int64_t n, F f) {
  T *o = out.as<T>(), *x = a.as<T>();
  for (std::int64_t i = 0; i < n; ++i) o[i] = f(x[i]);
}

template <class T, class R, class F>
void map2(Register& out, Register& a, Register& b, std::int64_t n, F f) {
  R* o = out.as<R>();
  T *x = a.as<T>(), *y = b.as<T>();
  for (std::int64_t i = 0; i < n; ++i) o[i] = f(x[i], y[i]);
}

class BlockRunner {
 public:
  BlockRunner(KernelCall& call, const ScalarProgram& program)
      : call_(call), program_(program), registers_(program.steps.size()) {}

  void run() {
    Tensor& out = result();
    std::int64_t total = out.type().elements();
    visit(out.type().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      // A result that is not itself an operand is computed directly in the output tensor.
      bool in_place = computes_as_stored<T> && program_.steps.back().code > ScalarCode::constant;
      for (std::int64_t at = 0; at < total; at += block) {
        std::int64_t n = std::min(block, total - at);
        T* to = out.as<T>() + at;
        if (in_place) registers_.back().at = reinterpret_cast<std::byte*>(to);
        for (std::size_t i = 0; i < program_.steps.size(); ++i) step(i, at, n);
        const auto* from = registers_.back().as<Compute<T>>();
        for (std::int64_t i = 0; i < n && !in_place; ++i) to[i] = store<T>(from[i]);
      }
    });
  }

 private:
  /// The result reuses the bytes of an operand that is not shared: every element is read before the
  /// one in its place is written, and new memory costs more than the arithmetic.
  Tensor& result() {
    for (const Tensor& t : call_.inputs)
      if (t.type() == call_.types[0] && t.unique()) return call_.results[0] = t;
    return call_.out();
  }

  void step(std::size_t index, std::int64_t at, std::int64_t n) {
    const ScalarStep& s = program_.steps[index];
    Register& out = registers_[index];
    switch (s.code) {
      case ScalarCode::argument:
        return argument(out, call_.inputs[s.inputs[0]], at, n);
      case ScalarCode::constant:
        if (at > 0) return;  // the first block has filled the register
        return visit_register(s.dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          T value = std::is_floating_point_v<T> ? convert<T>(s.real) : convert<T>(s.integer);
          std::fill_n(out.as<T>(), block, value);
        });
      case ScalarCode::convert:
        return convert_to(out, s, n);
      case ScalarCode::fma:
        return visit_register(s.dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          if constexpr (std::is_floating_point_v<T>) {
            const T *x = registers_[s.inputs[0]].as<T>(), *y = registers_[s.inputs[1]].as<T>(),
                    *z = registers_[s.inputs[2]].as<T>();
            for (std::int64_t i = 0; i < n; ++i) out.as<T>()[i] = std::fma(x[i], y[i], z[i]);
          }
        });
      case ScalarCode::select: {
        const bool* condition = registers_[s.inputs[0]].as<bool>();
        return visit_register(s.dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          const T *yes = registers_[s.inputs[1]].as<T>(), *no = registers_[s.inputs[2]].as<T>();
          for (std::int64_t i = 0; i < n; ++i) out.as<T>()[i] = condition[i] ? yes[i] : no[i];
        });
      }
      default:
        break;
    }
    Register &a = registers_[s.inputs[0]], &b = registers_[s.inputs[1]];
    visit_register(program_.steps[s.inputs[0]].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      compute<T>(s.code, out, a, b, n);
    });
  }

  template <class T>
  static void compute(ScalarCode code, Register& out, Register& a, Register& b, std::int64_t n) {
    switch (code) {
      case ScalarCode::eq:
        return map2<T, bool>(out, a, b, n, [](T x, T y) { return x == y; });
      case ScalarCode::ne:
        return map2<T, bool>(out, a, b, n, [](T x, T y) { return x != y; });
      case ScalarCode::lt:
        return map2<T, bool>(out, a, b, n, [](T x, T y) { return x < y; });
      case ScalarCode::le:
        return map2<T, bool>(out, a, b, n, [](T x, T y) { return x <= y; });
      default:
        break;
    }
    if constexpr (!std::is_same_v<T, bool>) {
      switch (code) {
        case ScalarCode::add:
          return map2<T, T>(out, a, b, n, element_sum<T>);
        case ScalarCode::sub:
          return map2<T, T>(out, a, b, n, wrapping_sub<T>);
        case ScalarCode::mul:
          return map2<T, T>(out, a, b, n, element_product<T>);
        case ScalarCode::max:
          return map2<T, T>(out, a, b, n, greater_of<T>);
        case ScalarCode::min:
          return map2<T, T>(out, a, b, n, lesser_of<T>);
        case ScalarCode::sign:
          return map1<T>(out, a, n, [](T x) { return static_cast<T>((x > T(0)) - (x < T(0))); });
        case ScalarCode::floor_div:
          return map2<T, T>(out, a, b, n, floor_quotient<T>);
        case ScalarCode::remainder:
          return map2<T, T>(out, a, b, n, floor_remainder<T>);
        default:
          break;
      }
    }
    if constexpr (std::is_floating_point_v<T>)
      return compute_float<T>(code, out, a, b, n);
    else
      return compute_integer<T>(code, out, a, b, n);
  }

  template <class T>
  static void compute_float(ScalarCode code, Register& out, Register& a, Register& b,
                            std::int64_t n) {
    switch (code) {
      // For a float this flips the sign bit; 0 - x would lose the sign of zero.
      case ScalarCode::neg:
        return map1<T>(out, a, n, [](T x) { return -x; });
      case ScalarCode::abs:
        return map1<T>(out, a, n, [](T x) { return std::fabs(x); });
      case ScalarCode::div:
        return map2<T, T>(out, a, b, n, [](T x, T y) { return x / y; });
      case ScalarCode::pow:
        return map2<T, T>(out, a, b, n, [](T x, T y) { return std::pow(x, y); });
      case ScalarCode::sqrt:
        return map1<T>(out, a, n, [](T x) { return std::sqrt(x); });
      case ScalarCode::exp:
        return map1<T>(out, a, n, [](T x) { return std::exp(x); });
      case ScalarCode::expm1:
        return map1<T>(out, a, n, [](T x) { return std::expm1(x); });
      case ScalarCode::log:
        return map1<T>(out, a, n, [](T x) { return std::log(x); });
      case ScalarCode::log1p:
        return map1<T>(out, a, n, [](T x) { return std::log1p(x); });
      case ScalarCode::sin:
        return map1<T>(out, a, n, [](T x) { return std::sin(x); });
      case ScalarCode::cos:
        return map1<T>(out, a, n, [](T x) { return std::cos(x); });
      case ScalarCode::tan:
        return map1<T>(out, a, n, [](T x) { return std::tan(x); });
      case ScalarCode::atan:
        return map1<T>(out, a, n, [](T x) { return std::atan(x); });
      case ScalarCode::tanh:
        return map1<T>(out, a, n, [](T x) { return std::tanh(x); });
      case ScalarCode::erf:
        return map1<T>(out, a, n, [](T x) { return std::erf(x); });
      case ScalarCode::floor:
        return map1<T>(out, a, n, [](T x) { return std::floor(x); });
      case ScalarCode::ceil:
        return map1<T>(out, a, n, [](T x) { return std::ceil(x); });
      case ScalarCode::round:
        return map1<T>(out, a, n, [](T x) { return std::nearbyint(x); });
      case ScalarCode::trunc:
        return map1<T>(out, a, n, [](T x) { return std::trunc(x); });
      default:
        internal_fail("a scalar step that floats do not have");
    }
  }

  template <class T>
  static void compute_integer(ScalarCode code, Register& out, Register& a, Register& b,
                              std::int64_t n) {
    switch (code) {
      case ScalarCode::bit_and:
        return map2<T, T>(out, a, b, n, [](T x, T y) { return static_cast<T>(x & y); });
      case ScalarCode::bit_or:
        return map2<T, T>(out, a, b, n, [](T x, T y) { return static_cast<T>(x | y); });
      case ScalarCode::bit_xor:
        return map2<T, T>(out, a, b, n, [](T x, T y) { return static_cast<T>(x ^ y); });
      default:
        break;
    }
    if constexpr (std::is_same_v<T, bool>) {
      if (code == ScalarCode::bit_not) return map1<T>(out, a, n, [](T x) { return !x; });
    } else {
      switch (code) {
        case ScalarCode::neg:
          return map1<T>(out, a, n, [](T x) { return wrapping_sub(T(0), x); });
        case ScalarCode::abs:
          return map1<T>(out, a, n, [](T x) { return x < T(0) ? wrapping_sub(T(0), x) : x; });
        case ScalarCode::bit_not:
          return map1<T>(out, a, n, [](T x) { return static_cast<T>(~x); });
        case ScalarCode::shift_left:
          return map2<T, T>(out, a, b, n, shifted_left<T>);
        case ScalarCode::shift_right:
          return map2<T, T>(out, a, b, n, shifted_right<T>);
        default:
          break;
      }
    }
    internal_fail("a scalar step that its dtype does not have");
  }

  /// A rank-0 operand applies to all elements.
  void argument(Register& out, const Tensor& in, std::int64_t at, std::int64_t n) {
    bool everywhere = in.type().shape.empty();
    if (everywhere && at > 0) return;
    visit(in.type().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* to = out.as<Compute<T>>();
      if (everywhere) {
        std::fill_n(to, block, load(in.as<T>()[0]));
      } else if constexpr (computes_as_stored<T>) {
        // The register of an operand is never written to.
        out.at = reinterpret_cast<std::byte*>(const_cast<T*>(in.as<T>() + at));
      } else {
        const T* from = in.as<T>() + at;
        for (std::int64_t i = 0; i < n; ++i) to[i] = load(from[i]);
      }
    });
  }

  void convert_to(Register& out, const ScalarStep& s, std::int64_t n) {
    Register& in = registers_[s.inputs[0]];
    visit_register(program_.steps[s.inputs[0]].dtype, [&](auto from_tag) {
      using From = typename decltype(from_tag)::type;
      visit_register(s.dtype, [&](auto to_tag) {
        using To = typename decltype(to_tag)::type;
        for (std::int64_t i = 0; i < n; ++i) out.as<To>()[i] = convert<To>(in.as<From>()[i]);
      });
    });
  }

  KernelCall& call_;
  const ScalarProgram& program_;
  std::vector<Register> registers_;
};

}  // namespace

void run_elementwise(KernelCall& call) {
  std::vector<DType> dtypes;
  for (const Tensor& t : call.inputs) dtypes.push_back(t.type().dtype);
  ScalarProgram program = trace(call.op, dtypes, call.types[0].dtype);
  BlockRunner(call, program).run();
}

}  // namespace hocket
