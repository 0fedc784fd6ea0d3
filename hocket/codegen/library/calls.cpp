#include "hocket/codegen/library/calls.h"

#include <dnnl_debug.h>
#include <omp.h>

#include "hocket/base/error.h"

namespace hocket::library {

ThreadCount::ThreadCount(int threads) : threads_(threads), before_(omp_get_max_threads()) {
  if (threads_ != before_) omp_set_num_threads(threads_);
}

ThreadCount::~ThreadCount() {
  if (threads_ != before_) omp_set_num_threads(before_);
}

void Call::add(int argument, const dnnl::memory& memory) {
  memories_.push_back(memory);
  arguments_.push_back({argument, memory.get()});
}

dnnl_status_t Call::execute(const dnnl::stream& stream) const {
  return dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                                arguments_.data());
}

void BoundCalls::run() {
  ThreadCount scope(engine_.threads);
  for (const Call& call : calls_)
    if (dnnl_status_t status = call.execute(engine_.stream); status != dnnl_success)
      internal_fail("library: {}: oneDNN says '{}'", name_, dnnl_status2str(status));
}

std::size_t WorkspacePlan::reserve(const dnnl::memory::desc& description) {
  constexpr std::size_t line = 64;
  std::size_t at = bytes_;
  bytes_ += (description.get_size() + line - 1) / line * line;
  return at;
}

dnnl::primitive_attr with_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace hocket::library
