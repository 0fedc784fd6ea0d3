#include "hocket/codegen/library/prepared.h"

namespace hocket::library {
namespace {

constexpr std::size_t line = 64;

}  // namespace

std::optional<dnnl::memory::data_type> data_type(DType dtype) {
  if (dtype == DType::f32) return dnnl::memory::data_type::f32;
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

Prepared::Prepared(const Engine& engine, const dnnl::primitive_desc& description,
                   const std::array<Port, 2>& inputs, const Port& output)
    : primitive_(description) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs_[i] = side(engine, description, inputs[i], true);
  output_ = side(engine, description, output, false);
  dnnl::memory::desc scratchpad = description.query_md(dnnl::query::scratchpad_md);
  if (scratchpad.get_size() > 0) arguments_[DNNL_ARG_SCRATCHPAD] = reserve(engine, scratchpad);
}

Prepared::Side Prepared::side(const Engine& engine, const dnnl::primitive_desc& description,
                              const Port& port, bool input) {
  Side s;
  s.plain = dnnl::memory(port.plain, engine.cpu, DNNL_MEMORY_NONE);
  dnnl::memory::desc wanted = description.query_md(dnnl::query::exec_arg_md, port.argument);
  s.changes = wanted != port.plain;
  if (s.changes) {
    s.own = reserve(engine, wanted);
    const dnnl::memory &from = input ? s.plain : s.own, &to = input ? s.own : s.plain;
    s.change = dnnl::reorder(from, to);
  }
  arguments_[port.argument] = s.changes ? s.own : s.plain;
  return s;
}

dnnl::memory Prepared::reserve(const Engine& engine, const dnnl::memory::desc& layout) {
  dnnl::memory memory(layout, engine.cpu, DNNL_MEMORY_NONE);
  reserved_.emplace_back(memory, workspace_bytes_);
  workspace_bytes_ += (layout.get_size() + line - 1) / line * line;
  return memory;
}

/// Setting the data handle of a memory writes zeros into its padding, so it is done only when the
/// workspace moves. Reorders and primitives write the padding of their results again.
void Prepared::place(std::byte* workspace) {
  if (workspace == placed_at_) return;
  for (auto& [memory, offset] : reserved_) memory.set_data_handle(workspace + offset);
  placed_at_ = workspace;
}

void Prepared::execute(const dnnl::stream& stream, std::span<const Tensor> inputs, Tensor& output,
                       std::byte* workspace) {
  place(workspace);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Side& s = inputs_[i];
    // oneDNN has no read-only memory; it does not write its inputs.
    s.plain.set_data_handle(const_cast<std::byte*>(inputs[i].bytes().data()));
    if (s.changes) s.change.execute(stream, {{DNNL_ARG_FROM, s.plain}, {DNNL_ARG_TO, s.own}});
  }
  output_.plain.set_data_handle(output.bytes().data());
  primitive_.execute(stream, arguments_);
  if (output_.changes)
    output_.change.execute(stream, {{DNNL_ARG_FROM, output_.own}, {DNNL_ARG_TO, output_.plain}});
}

}  // namespace hocket::library
