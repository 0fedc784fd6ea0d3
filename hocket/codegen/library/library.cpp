#include "hocket/codegen/library/library.h"

#include <omp.h>

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/codegen/library/prepared.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// A step has some hundred kinds of calls. Beyond this limit the cache is emptied, so that code for
/// shapes no longer used does not accumulate.
constexpr std::size_t most_prepared = 1024;

/// oneDNN takes the number of threads from OpenMP's setting of the calling thread, when a primitive
/// is created and when it is executed. This sets it and restores it for other users of OpenMP.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

using Prepare = std::unique_ptr<library::Prepared> (*)(const library::Engine&, const KernelCall&);

Prepare prepare_of(const Op& op) {
  if (&op == &ops::matmul) return library::prepare_matmul;
  if (&op == &ops::conv || &op == &ops::conv_grad_input || &op == &ops::conv_grad_weight)
    return library::prepare_conv;
  return nullptr;
}

bool computable(const Type& type) {
  return library::data_type(type.dtype).has_value() && type.elements() > 0;
}

void append(std::vector<std::int64_t>& key, std::span<const std::int64_t> list) {
  key.push_back(static_cast<std::int64_t>(list.size()));
  key.insert(key.end(), list.begin(), list.end());
}

void append(std::vector<std::int64_t>& key, const KernelCall& c) {
  auto type = [&](const Type& t) {
    key.push_back(static_cast<std::int64_t>(t.dtype));
    append(key, {t.shape.data(), t.shape.size()});
  };
  key.push_back(reinterpret_cast<std::intptr_t>(&c.op));
  for (const Attribute& a : c.attributes.values()) {
    if (const auto* list = std::get_if<Ints>(&a))
      append(key, *list);
    else if (const auto* flag = std::get_if<bool>(&a))
      key.push_back(*flag ? 1 : 0);
    else
      key.push_back(std::get<std::int64_t>(a));
  }
  for (const Tensor& t : c.inputs) type(t.type());
  type(c.types[0]);
}

std::unique_ptr<library::Prepared> prepare(Prepare with, const library::Engine& engine,
                                           const KernelCall& c) {
  try {
    return with(engine, c);
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return nullptr;
    internal_fail("library: {}: oneDNN says '{}'", c.op.name, e.what());
  }
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

Library::Library(int threads) : threads_(threads), engine_(std::make_unique<library::Engine>()) {
  if (threads < 1) fail("library: {} threads, wanted at least 1", threads);
}

Library::~Library() = default;

std::size_t Library::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (std::int64_t v : key) hash = mixed(hash ^ static_cast<std::uint64_t>(v));
  return hash;
}

std::string Library::numerics() const {
  const dnnl::version_t* v = dnnl::version();
  return fmt::format("library: oneDNN {}.{}.{}, {}, {} thread{}", v->major, v->minor, v->patch,
                     instruction_set(), threads_, threads_ == 1 ? "" : "s");
}

bool Library::run(KernelCall& c) {
  Prepare with = prepare_of(c.op);
  if (with == nullptr || !computable(c.types[0])) return false;
  if (!std::ranges::all_of(c.inputs, [](const Tensor& t) { return computable(t.type()); }))
    return false;
  key_.clear();
  append(key_, c);
  ThreadCount scope(threads_);
  auto found = prepared_.find(key_);
  if (found == prepared_.end()) {
    if (prepared_.size() == most_prepared) prepared_.clear();
    found = prepared_.emplace(key_, prepare(with, *engine_, c)).first;
  }
  library::Prepared* p = found->second.get();
  if (p == nullptr) return false;
  auto bytes = static_cast<std::int64_t>(p->workspace_bytes());
  if (bytes > 0 && (!workspace_ || workspace_.type().bytes() < bytes))
    workspace_ = Tensor(Type{DType::u8, false, {bytes}});
  try {
    p->execute(engine_->stream, c.inputs, c.out(), workspace_.bytes().data());
  } catch (const dnnl::error& e) {
    internal_fail("library: {}: oneDNN says '{}'", c.op.name, e.what());
  }
  return true;
}

}  // namespace hocket
