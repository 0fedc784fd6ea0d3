#include "hocket/ops/reference_call.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/ir/world.h"
#include "hocket/ops/copy.h"

namespace hocket {
namespace {

std::span<const std::int64_t> dims(const Type& type) {
  return {type.shape.data(), type.shape.size()};
}

bool has_no_elements(std::span<const Type> results) {
  return std::ranges::all_of(results, [](const Type& t) { return t.elements() == 0; });
}

/// How an elementwise op sees an operand: a single element applies everywhere.
std::optional<Layout> beside(const ConstView& operand, const View& result) {
  std::int64_t count = result.type.elements();
  if (operand.type.shape.empty()) return Layout{{count, 0}};
  return in_memory_order(operand.layout, result.layout);
}

/// f(what a record's function gets) for a call of these types.
template <class F>
auto ask(const ReferenceOp& op, F f) {
  World world;  // nothing that is asked here depends on it
  std::vector<const Type*> operands;
  for (const Type& t : op.operands()) operands.push_back(&t);
  return f(InferCall{op.op(), operands, op.attributes(), world, op.results(), nullptr});
}

}  // namespace

ReferenceOp::ReferenceOp(const KernelSpec& spec)
    : op_(&spec.op),
      attributes_(spec.attributes),
      operands_(spec.operands.begin(), spec.operands.end()),
      results_(spec.results.begin(), spec.results.end()),
      place_(place_in_group(spec.op, spec.attributes, spec.world, spec.rank)) {
  const Op& op = spec.op;
  if (op.body != nullptr) {
    body_.emplace(op, operands_, results_[0]);
    scratch_bytes_ = body_->scratch_bytes();
  } else if (op.view == nullptr && op.kernel == nullptr) {
    internal_fail("{}: no kernel", op.name);
  } else if (op.scratch != nullptr && !has_no_elements(results_)) {
    scratch_bytes_ = ask(*this, [&](const InferCall& c) { return rounded_to_line(op.scratch(c)); });
  }
}

bool ReferenceOp::reads_any_layout() const {
  return op_->body != nullptr || op_->view != nullptr || op_->reads_any_layout;
}

bool ReferenceOp::writes_any_layout() const {
  return op_->body != nullptr || op_->view != nullptr || op_->writes_any_layout;
}

std::optional<ViewOf> ReferenceOp::view(const Layout& operand) const {
  return ask(*this, [&](const InferCall& c) { return op_->view(c, operand); });
}

ReferenceCall::ReferenceCall(std::shared_ptr<const ReferenceOp> op,
                             std::span<const ConstView> operands, std::span<const View> results,
                             std::span<std::byte> scratch)
    : op_(std::move(op)),
      operands_(operands.begin(), operands.end()),
      results_(results.begin(), results.end()),
      scratch_(scratch.first(static_cast<std::size_t>(op_->scratch_bytes()))) {
  // No kernel must walk over operands whose other dimensions may be huge.
  nothing_to_do_ = has_no_elements(op_->results());
  if (nothing_to_do_) return;
  if (op_->body() != nullptr)
    prepare_body();
  else if (op_->op().view != nullptr)
    prepare_view();
  else
    prepare_kernel();
}

void ReferenceCall::prepare_body() {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    auto layout = beside(operands_[i], results_[0]);
    if (!layout) {
      read_from_buffer(i);
      layout = beside(operands_[i], results_[0]);
    }
    elements_.push_back({operands_[i].data, *layout});
  }
}

void ReferenceCall::prepare_view() {
  auto view = op_->view(operands_[0].layout);
  if (!view) {
    read_from_buffer(0);
    view = op_->view(operands_[0].layout);
  }
  auto layout = in_memory_order(view->layout, results_[0].layout);
  if (!layout) {
    write_through_buffer(0);
    layout = view->layout;
  }
  std::int64_t width = bytes(results_[0].type.dtype);
  before_.push_back({results_[0].data, operands_[0].data + view->first * width, *layout, width});
}

void ReferenceCall::prepare_kernel() {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const ConstView& x = operands_[i];
    if (!op_->reads_any_layout() && !x.layout.is_row_major())
      internal_fail("{}: operand {} lies as {}, wanted row-major", op_->op().name, i,
                    to_text(x.layout));
    if (!DimAxes::of(x.layout, dims(x.type))) read_from_buffer(i);
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const View& y = results_[i];
    if (!op_->writes_any_layout() && !y.layout.is_row_major())
      internal_fail("{}: result {} lies as {}, wanted row-major", op_->op().name, i,
                    to_text(y.layout));
    if (!DimAxes::of(y.layout, dims(y.type))) write_through_buffer(i);
  }
}

View ReferenceCall::buffer(const Type& type) { return view_of(buffers_.emplace_back(type)); }

void ReferenceCall::read_from_buffer(std::size_t operand) {
  ConstView& x = operands_[operand];
  View whole = buffer(x.type);
  before_.push_back({whole.data, x.data, x.layout, bytes(x.type.dtype)});
  x = {whole.type, whole.layout, whole.data};
}

void ReferenceCall::write_through_buffer(std::size_t result) {
  View& y = results_[result];
  View whole = buffer(y.type);
  auto back = in_memory_order(whole.layout, y.layout);
  after_.push_back({y.data, whole.data, *back, bytes(y.type.dtype)});
  y = whole;
}

void ReferenceCall::run() {
  if (nothing_to_do_) return;
  for (const Copy& copy : before_) copy.run();
  if (const Elementwise* body = op_->body())
    body->run(elements_, results_[0].data, results_[0].type.elements(), scratch_);
  else if (op_->op().view == nullptr)
    run_kernel();
  for (const Copy& copy : after_) copy.run();
}

void ReferenceCall::run_kernel() {
  KernelCall call{op_->op(), op_->attributes(), operands_, results_, op_->place(), scratch_};
  op_->op().kernel(call);
}

}  // namespace hocket
