// Runs traced bodies over blocks of elements: one short loop per step and block, so that the
// dispatch of a step is paid once for a few hundred elements.

#include "hocket/ops/elementwise_run.h"

#include <algorithm>

#include "hocket/ops/copy.h"
#include "hocket/ops/kernel.h"
#include "hocket/ops/scalar_steps.h"

namespace hocket {
namespace {

/// True when elements compute in the form in which they are stored.
template <class T>
constexpr bool computes_as_stored = std::is_same_v<T, Compute<T>>;

bool lies_in_order(const Layout& layout) { return layout.is_row_major(); }
bool is_everywhere(const Layout& layout) {
  return layout.axes().size() == 1 && layout.axes()[0].stride == 0;
}

/// Elements `begin` to `begin + count` of an operand, in the compute dtype: the place in the
/// operand where they lie or `own`, where they are put. `stage` is for as many elements.
const std::byte* read_block(DType dtype, const ElementwiseOperand& x, std::byte* own,
                            std::byte* stage, std::int64_t begin, std::int64_t count) {
  std::int64_t width = bytes(dtype);
  bool everywhere = is_everywhere(x.layout), in_order = lies_in_order(x.layout);
  if (everywhere && begin > 0) return own;  // the first block, which is the longest, has filled it
  return visit(dtype, [&](auto tag) -> const std::byte* {
    using T = typename decltype(tag)::type;
    auto* to = reinterpret_cast<Compute<T>*>(own);
    if (everywhere) {
      std::fill_n(to, count, load(*reinterpret_cast<const T*>(x.data)));
      return own;
    }
    const std::byte* from = x.data + begin * width;
    if constexpr (computes_as_stored<T>) {
      if (in_order) return from;
      copy_elements(own, x.data, x.layout, width, begin, count);
    } else {
      if (!in_order) {
        copy_elements(stage, x.data, x.layout, width, begin, count);
        from = stage;
      }
      auto* element = reinterpret_cast<const T*>(from);
      for (std::int64_t i = 0; i < count; ++i) to[i] = load(element[i]);
    }
    return own;
  });
}

void write_block(DType dtype, std::byte* to, const std::byte* from, std::int64_t count) {
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* element = reinterpret_cast<T*>(to);
    auto* value = reinterpret_cast<const Compute<T>*>(from);
    for (std::int64_t i = 0; i < count; ++i) element[i] = store<T>(value[i]);
  });
}

}  // namespace

Elementwise::Elementwise(const Op& op, std::span<const Type> operands, const Type& result)
    : result_(result.dtype) {
  for (const Type& t : operands) operands_.push_back(t.dtype);
  program_ = trace(op, operands_, result_);
  // In front the place of each register.
  std::int64_t at =
      rounded_to_line(static_cast<std::int64_t>(program_.steps.size() * sizeof(void*)));
  std::int64_t longest = std::min(block_elements, result.elements());
  for (const ScalarStep& s : program_.steps) {
    registers_.push_back(at);
    at += rounded_to_line(longest * bytes(s.dtype));
  }
  stage_ = at;
  std::int64_t widest = 0;
  for (DType d : operands_) widest = std::max(widest, bytes(d));
  scratch_bytes_ = at + rounded_to_line(longest * widest);
}

void Elementwise::run(std::span<const ElementwiseOperand> operands, std::byte* result,
                      std::int64_t elements, std::span<std::byte> scratch) const {
  const auto& steps = program_.steps;
  auto* at = reinterpret_cast<const std::byte**>(scratch.data());
  bool stored =
      visit(result_, [](auto tag) { return computes_as_stored<typename decltype(tag)::type>; });
  // A result that is not itself an operand is computed where it is wanted.
  bool in_place = stored && steps.back().code > ScalarCode::constant;
  std::int64_t width = bytes(result_);
  for (std::int64_t begin = 0; begin < elements; begin += block_elements) {
    std::int64_t count = std::min(block_elements, elements - begin);
    std::byte* to = result + begin * width;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const ScalarStep& s = steps[i];
      std::byte* own = scratch.data() + registers_[i];
      if (s.code == ScalarCode::argument) {
        at[i] = read_block(operands_[s.inputs[0]], operands[s.inputs[0]], own,
                           scratch.data() + stage_, begin, count);
        continue;
      }
      if (s.code == ScalarCode::constant && begin > 0) continue;
      if (in_place && i + 1 == steps.size()) own = to;
      at[i] = own;
      run_step(s, steps[s.inputs[0]].dtype, own,
               {at[s.inputs[0]], at[s.inputs[1]], at[s.inputs[2]]}, count);
    }
    if (!in_place) write_block(result_, to, at[steps.size() - 1], count);
  }
}

}  // namespace hocket
