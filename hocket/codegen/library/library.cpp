#include "hocket/codegen/library/library.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/codegen/library/primitive.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// A step has some hundred kinds of calls. Beyond this limit the cache is emptied, so that code for
/// shapes no longer used does not accumulate. Kernels that somebody holds stay.
constexpr std::size_t most_prepared = 1024;

using Prepare = std::shared_ptr<const Kernel> (*)(const library::Engine&, const KernelSpec&);

Prepare prepare_of(const Op& op) {
  if (&op == &ops::matmul) return library::prepare_matmul;
  if (&op == &ops::conv || &op == &ops::conv_grad_input || &op == &ops::conv_grad_weight)
    return library::prepare_conv;
  return nullptr;
}

bool computable(const Type& type) {
  return library::data_type(type.dtype).has_value() && type.elements() > 0;
}

void append(CallKey& key, const Layout& layout) {
  key.push_back(static_cast<std::int64_t>(layout.axes().size()));
  for (Layout::Axis axis : layout.axes()) key.insert(key.end(), {axis.size, axis.stride});
}

std::string_view instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_mic:
      return "avx512_mic";
    case dnnl::cpu_isa::avx512_mic_4ops:
      return "avx512_mic_4ops";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "any instruction set";
  }
}

}  // namespace

Library::Library(int threads) : engine_(std::make_unique<library::Engine>()) {
  if (threads < 1) fail("library: {} threads, wanted at least 1", threads);
  engine_->threads = threads;
}

Library::~Library() = default;

std::string Library::numerics() const {
  const dnnl::version_t* v = dnnl::version();
  return fmt::format("library: oneDNN {}.{}.{}, {}, {} thread{}", v->major, v->minor, v->patch,
                     instruction_set(), engine_->threads, engine_->threads == 1 ? "" : "s");
}

template <class Prepare>
std::shared_ptr<const Kernel> Library::cached(std::string_view name, Prepare prepare) {
  auto found = prepared_.find(key_);
  if (found != prepared_.end()) return found->second;
  if (prepared_.size() == most_prepared) prepared_.clear();
  std::shared_ptr<const Kernel> kernel;
  try {
    library::ThreadCount scope(engine_->threads);
    kernel = prepare();
  } catch (const dnnl::error& e) {
    if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments)
      internal_fail("library: {}: oneDNN says '{}'", name, e.what());
  }
  return prepared_.emplace(key_, std::move(kernel)).first->second;
}

std::shared_ptr<const Kernel> Library::prepare(const KernelSpec& spec) {
  Prepare with = prepare_of(spec.op);
  if (with == nullptr || !computable(spec.results[0]) ||
      !std::ranges::all_of(spec.operands, computable))
    return nullptr;
  write_key(key_, spec);
  return cached(spec.op.name, [&] { return with(*engine_, spec); });
}

std::shared_ptr<const Kernel> Library::prepare_copy(DType dtype, const Layout& from,
                                                    const Layout& to) {
  key_ = {0, static_cast<std::int64_t>(dtype)};  // no op is at 0
  append(key_, from);
  append(key_, to);
  auto reorder =
      cached("copy", [&] { return library::prepare_reorder(*engine_, dtype, from, to); });
  return reorder ? reorder : Backend::prepare_copy(dtype, from, to);
}

}  // namespace hocket
