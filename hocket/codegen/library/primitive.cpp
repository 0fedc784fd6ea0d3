#include "hocket/codegen/library/primitive.h"

#include <algorithm>

#include "hocket/base/error.h"

namespace hocket::library {
namespace {

/// One tensor of a kernel: where its memory is outside, and where the primitive has it if that is
/// another place.
struct Side {
  int number = 0;
  dnnl::memory::desc outside, inside;
  dnnl::primitive change;  // from one to the other, or nothing
  std::size_t inside_at = 0;

  bool changes() const { return static_cast<bool>(change); }
};

/// A memory over bytes that are only read, or overwritten: oneDNN does not tell the two apart.
dnnl::memory memory_at(const Engine& engine, const dnnl::memory::desc& description,
                       const std::byte* at) {
  return {description, engine.cpu, const_cast<std::byte*>(at)};
}

class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(const Engine& engine, const KernelSpec& spec,
                  const dnnl::primitive_desc& description, const std::array<Argument, 2>& inputs,
                  const Argument& output)
      : engine_(engine),
        name_(spec.op.name),
        primitive_(description),
        scratchpad_(description.query_md(dnnl::query::scratchpad_md)) {
    WorkspacePlan workspace;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs_[i] = side(description, inputs[i], true, workspace);
      operands.push_back(port(inputs_[i], inputs[i], spec.operands[i]));
    }
    output_ = side(description, output, false, workspace);
    results.push_back(port(output_, output, spec.results[0]));
    scratchpad_at_ = workspace.reserve(scratchpad_);
    workspace_bytes = workspace.bytes();
    may_overwrite.resize(1);
  }

  /// A memory with padding gets zeros there when it is made, which last until somebody else uses
  /// the workspace. But the reorder of an operand writes them again at every run, and the padding
  /// of a result is not read.
  std::unique_ptr<BoundKernel> bind(std::span<const ConstView> from, std::span<const View> to,
                                    std::span<std::byte> workspace) const override {
    std::vector<Call> calls;
    Call call(primitive_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Side& s = inputs_[i];
      dnnl::memory outside = memory_at(engine_, s.outside, from[i].data), inside = outside;
      if (s.changes()) {
        inside = memory_at(engine_, s.inside, workspace.data() + s.inside_at);
        calls.push_back(change(s, outside, inside));
      }
      call.add(s.number, inside);
    }
    dnnl::memory outside = memory_at(engine_, output_.outside, to[0].data), inside = outside;
    if (output_.changes())
      inside = memory_at(engine_, output_.inside, workspace.data() + output_.inside_at);
    call.add(output_.number, inside);
    if (scratchpad_.get_size() > 0)
      call.add(DNNL_ARG_SCRATCHPAD,
               memory_at(engine_, scratchpad_, workspace.data() + scratchpad_at_));
    calls.push_back(std::move(call));
    if (output_.changes()) calls.push_back(change(output_, inside, outside));
    return std::make_unique<BoundCalls>(engine_, name_, std::move(calls));
  }

 private:
  Side side(const dnnl::primitive_desc& description, const Argument& argument, bool input,
            WorkspacePlan& workspace) const {
    Side s;
    s.number = argument.number;
    s.inside = description.query_md(dnnl::query::exec_arg_md, argument.number);
    s.outside = s.inside;
    if (s.inside == argument.plain || layout_of(s.inside)) return s;
    s.outside = argument.plain;
    s.inside_at = workspace.reserve(s.inside);
    s.change = input ? reorder(s.outside, s.inside) : reorder(s.inside, s.outside);
    return s;
  }

  dnnl::primitive reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) const {
    return dnnl::reorder(dnnl::reorder::primitive_desc(engine_.cpu, from, engine_.cpu, to));
  }

  /// A transposed operand of a matrix product is row-major; only its strides for oneDNN are not.
  static Port port(const Side& side, const Argument& argument, const Type& type) {
    if (side.outside == argument.plain) return {Layout::row_major(type.elements())};
    return {*layout_of(side.outside)};
  }

  static Call change(const Side& side, const dnnl::memory& from, const dnnl::memory& to) {
    Call call(side.change);
    call.add(DNNL_ARG_FROM, from);
    call.add(DNNL_ARG_TO, to);
    return call;
  }

  const Engine& engine_;
  std::string_view name_;
  dnnl::primitive primitive_;
  std::array<Side, 2> inputs_;
  Side output_;
  dnnl::memory::desc scratchpad_;
  std::size_t scratchpad_at_ = 0;
};

}  // namespace

std::optional<dnnl::memory::data_type> data_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

std::shared_ptr<const Kernel> make_kernel(const Engine& engine, const KernelSpec& spec,
                                          const dnnl::primitive_desc& description,
                                          const std::array<Argument, 2>& operands,
                                          const Argument& result) {
  return std::make_shared<PrimitiveKernel>(engine, spec, description, operands, result);
}

}  // namespace hocket::library
