// Copies between layouts as oneDNN reorders.

#include <algorithm>

#include "hocket/codegen/library/primitive.h"

namespace hocket::library {
namespace {

using dnnl::memory;

class Reorder final : public Kernel {
 public:
  Reorder(const Engine& engine, const dnnl::reorder::primitive_desc& description,
          const Layout& from, const Layout& to)
      : engine_(engine),
        from_(description.src_desc()),
        to_(description.dst_desc()),
        primitive_(dnnl::reorder(description)) {
    operands = {{from}};
    results = {{to}};
    may_overwrite.resize(1);
  }

  std::unique_ptr<BoundKernel> bind(std::span<const ConstView> from, std::span<const View> to,
                                    std::span<std::byte>) const override {
    std::vector<Call> calls{Call(primitive_)};
    // oneDNN has no read-only memory; it does not write what it copies.
    calls[0].add(DNNL_ARG_FROM, {from_, engine_.cpu, const_cast<std::byte*>(from[0].data)});
    calls[0].add(DNNL_ARG_TO, {to_, engine_.cpu, to[0].data});
    return std::make_unique<BoundCalls>(engine_, "copy", std::move(calls));
  }

 private:
  const Engine& engine_;
  memory::desc from_, to_;
  dnnl::primitive primitive_;
};

}  // namespace

/// A tensor with one dimension for each axis and any strides is enough: oneDNN sees the blocks, and
/// is as fast as with their names. Its element is any dtype of that size, as bits are only moved.
std::shared_ptr<const Kernel> prepare_reorder(const Engine& engine, DType dtype, const Layout& from,
                                              const Layout& to) {
  if (from == to) return nullptr;  // bytes in their order
  auto axes = common_axes(from, to);
  // One run of memory, or elements at a stride. Indices are 32 bits wide inside the kernels.
  if (!axes || axes->size() < 2 || from.elements() > INT32_MAX) return nullptr;
  std::int64_t size = bytes(dtype), parts = size == 8 ? 2 : 1;
  memory::dims dims, source, target;
  for (CommonAxis axis : *axes) {
    dims.push_back(axis.size);
    source.push_back(axis.first * parts);
    target.push_back(axis.second * parts);
  }
  if (parts > 1) {
    dims.push_back(parts);
    source.push_back(1);
    target.push_back(1);
  }
  auto repeats = [](std::int64_t stride) { return stride < 1; };
  if (dims.size() > DNNL_MAX_NDIMS || std::ranges::any_of(source, repeats)) return nullptr;
  memory::data_type type = size == 1   ? memory::data_type::u8
                           : size == 2 ? memory::data_type::bf16
                                       : memory::data_type::f32;
  dnnl::reorder::primitive_desc description(engine.cpu, memory::desc(dims, type, source),
                                            engine.cpu, memory::desc(dims, type, target));
  if (!std::string_view(description.impl_info_str()).starts_with("jit")) return nullptr;
  return std::make_shared<Reorder>(engine, description, from, to);
}

}  // namespace hocket::library
