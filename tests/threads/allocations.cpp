#include "tests/threads/allocations.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

using hocket::testing::Allocations;

thread_local Allocations* of_this_thread = nullptr;
std::atomic<Allocations*> of_all_threads{nullptr};

void* allocate(std::size_t size, const void* caller, std::size_t alignment = 0) {
  if (of_this_thread != nullptr) of_this_thread->note(size, caller);
  if (Allocations* all = of_all_threads.load()) all->note(size, caller);
  if (alignment == 0) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* or_throw(void* memory) { return memory != nullptr ? memory : throw std::bad_alloc(); }

bool is_ours(const void* address) {
  Dl_info of, here;
  if (dladdr(address, &of) == 0 || dladdr(reinterpret_cast<void*>(&is_ours), &here) == 0)
    return true;
  return of.dli_fbase == here.dli_fbase ||
         std::string_view(of.dli_fname).find("libstdc++") != std::string_view::npos;
}

}  // namespace

// All of them, since those of a sanitizer do not call each other; not inlined, or the compiler sees
// a `new` that is met by `free`.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  return or_throw(allocate(size, __builtin_return_address(0)));
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return or_throw(allocate(size, __builtin_return_address(0)));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t line) {
  return or_throw(allocate(size, __builtin_return_address(0), static_cast<std::size_t>(line)));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t line) {
  return or_throw(allocate(size, __builtin_return_address(0), static_cast<std::size_t>(line)));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t line,
                                       const std::nothrow_t&) noexcept {
  return allocate(size, __builtin_return_address(0), static_cast<std::size_t>(line));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace hocket::testing {

Allocations::Allocations(Of of) : of_(of) {
  if (of == Of::this_thread)
    of_this_thread = this;
  else
    of_all_threads = this;
}

void Allocations::stop() {
  if (of_ == Of::this_thread)
    of_this_thread = nullptr;
  else
    of_all_threads = nullptr;
}

void Allocations::note(std::size_t bytes, const void* caller) {
  std::size_t place = count_.fetch_add(1);
  if (place < list_.size()) list_[place] = {bytes, caller};
}

std::size_t Allocations::sum(bool wants_ours) const {
  std::size_t total = 0;
  for (std::size_t i = 0; i < std::min(count_.load(), list_.size()); ++i)
    if (is_ours(list_[i].caller) == wants_ours) total += list_[i].bytes;
  return total;
}

}  // namespace hocket::testing
