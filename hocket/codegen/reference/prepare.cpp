// Reference kernels under the interface of all kernels.

#include "hocket/codegen/backend.h"
#include "hocket/ops/reference_call.h"

namespace hocket {
namespace {

class BoundReference final : public BoundKernel {
 public:
  explicit BoundReference(ReferenceCall call) : call_(std::move(call)) {}
  void run() override { call_.run(); }

 private:
  ReferenceCall call_;
};

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const KernelSpec& spec) : op_(std::make_shared<ReferenceOp>(spec)) {
    for (const Type& t : spec.operands)
      operands.push_back({Layout::row_major(t.elements()), op_->reads_any_layout()});
    for (const Type& t : spec.results)
      results.push_back({Layout::row_major(t.elements()), op_->writes_any_layout()});
    workspace_bytes = op_->scratch_bytes();
    may_overwrite.resize(results.size());
    if (op_->body() == nullptr) return;
    for (std::uint32_t i = 0; i < spec.operands.size(); ++i)
      if (spec.operands[i] == spec.results[0]) may_overwrite[0].push_back(i);
  }

  std::unique_ptr<BoundKernel> bind(std::span<const ConstView> from, std::span<const View> to,
                                    std::span<std::byte> workspace) const override {
    return std::make_unique<BoundReference>(ReferenceCall(op_, from, to, workspace));
  }

 private:
  std::shared_ptr<const ReferenceOp> op_;
};

}  // namespace

std::shared_ptr<const Kernel> prepare_reference(const KernelSpec& spec) {
  return std::make_shared<ReferenceKernel>(spec);
}

std::shared_ptr<const Kernel> ReferenceKernels::prepare(const KernelSpec& spec) {
  CallKey key;
  write_key(key, spec);
  std::lock_guard lock(mutex_);
  std::shared_ptr<const Kernel>& kernel = prepared_[std::move(key)];
  if (kernel == nullptr) kernel = prepare_reference(spec);
  return kernel;
}

}  // namespace hocket
