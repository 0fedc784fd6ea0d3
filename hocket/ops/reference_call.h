#pragma once
// Runs an op by its body, its view or its reference kernel, on values where they lie.

#include <memory>
#include <optional>
#include <vector>

#include "hocket/ops/call_key.h"
#include "hocket/ops/copy.h"
#include "hocket/ops/elementwise_run.h"
#include "hocket/ops/kernel.h"

namespace hocket {

/// What is known of a call before its values: of an op that is neither a composite, a collective, a
/// wait nor a call. Immutable, so that threads may share it.
class ReferenceOp {
 public:
  /// Traces a body. InternalError for other ops.
  explicit ReferenceOp(const KernelSpec& spec);

  const Op& op() const { return *op_; }
  const Attributes& attributes() const { return attributes_; }
  std::span<const Type> operands() const { return operands_; }
  std::span<const Type> results() const { return results_; }
  PlaceInGroup place() const { return place_; }
  /// Null for an op without a body.
  const Elementwise* body() const { return body_ ? &*body_ : nullptr; }
  bool reads_any_layout() const;
  bool writes_any_layout() const;
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  /// For an op with a view: of an operand that lies like this.
  std::optional<ViewOf> view(const Layout& operand) const;

 private:
  const Op* op_;
  Attributes attributes_;
  std::vector<Type> operands_, results_;
  PlaceInGroup place_;
  std::optional<Elementwise> body_;
  std::int64_t scratch_bytes_ = 0;
};

/// A call that is ready to run: `run` looks nothing up and allocates nothing. Operands and results
/// lie as reads_any_layout and writes_any_layout allow. Where a kernel cannot walk a layout (one
/// without DimAxes, or whose axes do not divide those of the result), the value is copied to a
/// buffer of this object, row-major; whoever chooses layouts does better not to choose those.
class ReferenceCall {
 public:
  /// `scratch` is 64-byte aligned and has the bytes that `op` wants.
  ReferenceCall(std::shared_ptr<const ReferenceOp> op, std::span<const ConstView> operands,
                std::span<const View> results, std::span<std::byte> scratch);
  /// Error for operands that have no result, such as an index out of range.
  void run();

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    Layout layout;
    std::int64_t width;  // of an element
    void run() const { copy_elements(to, from, layout, width); }
  };
  void prepare_body();
  void prepare_view();
  void prepare_kernel();
  void run_kernel();
  void read_from_buffer(std::size_t operand);
  void write_through_buffer(std::size_t result);
  View buffer(const Type& type);

  std::shared_ptr<const ReferenceOp> op_;
  std::vector<ConstView> operands_;
  std::vector<View> results_;
  std::span<std::byte> scratch_;
  bool nothing_to_do_;
  std::vector<Copy> before_, after_;
  std::vector<ElementwiseOperand> elements_;
  std::vector<Tensor> buffers_;
};

}  // namespace hocket
