#pragma once
// oneDNN primitives as kernels. Private to this folder.

#include <array>
#include <memory>
#include <optional>

#include "hocket/codegen/library/calls.h"

namespace hocket::library {

/// One tensor of a call: which argument of the primitive it is, and its row-major layout.
struct Argument {
  int number = 0;
  dnnl::memory::desc plain;
};

/// A kernel that executes a primitive. Its ports have the layouts that the primitive wants. Where
/// such a layout has padding, which a Layout cannot say, the port is row-major, and a run reorders
/// from or to the workspace. Addresses need the alignment of the dtype only.
std::shared_ptr<const Kernel> make_kernel(const Engine& engine, const KernelSpec& spec,
                                          const dnnl::primitive_desc& description,
                                          const std::array<Argument, 2>& operands,
                                          const Argument& result);

/// The oneDNN name of a dtype, nothing for dtypes that oneDNN is not used for.
std::optional<dnnl::memory::data_type> data_type(DType dtype);

/// Where the elements of a value lie in a memory: nothing if it has padding or other additions.
std::optional<Layout> layout_of(const dnnl::memory::desc& description);

// Null where oneDNN has only an implementation slower than the reference kernel. Operands and
// results have elements.
std::shared_ptr<const Kernel> prepare_matmul(const Engine& engine, const KernelSpec& spec);
std::shared_ptr<const Kernel> prepare_conv(const Engine& engine, const KernelSpec& spec);
/// Null where oneDNN cannot express a copy or is slow at it.
std::shared_ptr<const Kernel> prepare_reorder(const Engine& engine, DType dtype, const Layout& from,
                                              const Layout& to);

}  // namespace hocket::library
