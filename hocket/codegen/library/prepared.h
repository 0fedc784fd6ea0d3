#pragma once
// A oneDNN primitive, created once for a call of given types and then executed on values. Private
// to this folder: the only header that includes oneDNN.

#include <array>
#include <cstddef>
#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "hocket/ops/kernel.h"

namespace hocket::library {

struct Engine {
  dnnl::engine cpu{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{cpu};
};

/// One tensor of a call: which argument of the primitive it is, and its row-major layout.
struct Port {
  int argument = 0;
  dnnl::memory::desc plain;
};

/// Where the primitive needs a layout other than row-major, a reorder copies to or from the
/// workspace.
class Prepared {
 public:
  Prepared(const Engine& engine, const dnnl::primitive_desc& description,
           const std::array<Port, 2>& inputs, const Port& output);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// `workspace` is 64-byte aligned, at least workspace_bytes() long; its contents are overwritten.
  void execute(const dnnl::stream& stream, std::span<const Tensor> inputs, Tensor& output,
               std::byte* workspace);

 private:
  struct Side {
    dnnl::memory plain;      // over the bytes of the tensor
    dnnl::memory own;        // in the workspace, unless the primitive reads the tensor itself
    dnnl::primitive change;  // between the two
    bool changes = false;
  };
  Side side(const Engine& engine, const dnnl::primitive_desc& description, const Port& port,
            bool input);
  dnnl::memory reserve(const Engine& engine, const dnnl::memory::desc& layout);
  void place(std::byte* workspace);

  dnnl::primitive primitive_;
  std::array<Side, 2> inputs_;
  Side output_;
  std::vector<std::pair<dnnl::memory, std::size_t>> reserved_;  // and offset in the workspace
  std::unordered_map<int, dnnl::memory> arguments_;
  std::size_t workspace_bytes_ = 0;
  std::byte* placed_at_ = nullptr;
};

/// The oneDNN name of a dtype, nothing for dtypes that oneDNN is not used for.
std::optional<dnnl::memory::data_type> data_type(DType dtype);

// Null where oneDNN has only an implementation slower than the reference kernel. Operands and
// results have elements.
std::unique_ptr<Prepared> prepare_matmul(const Engine& engine, const KernelCall& call);
std::unique_ptr<Prepared> prepare_conv(const Engine& engine, const KernelCall& call);

}  // namespace hocket::library
