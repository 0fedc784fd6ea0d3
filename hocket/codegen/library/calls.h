#pragma once
// Calls of oneDNN primitives with everything they touch. Private to this folder, whose other files
// have oneDNN from here.

#include <cstddef>
#include <dnnl.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/codegen/backend.h"

namespace hocket::library {

struct Engine {
  int threads = 1;
  dnnl::engine cpu{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{cpu};
};

/// oneDNN takes the number of threads from OpenMP's setting of the calling thread, when a primitive
/// is created and when it is executed. This sets it and restores it for other users of OpenMP.
class ThreadCount {
 public:
  explicit ThreadCount(int threads);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int threads_, before_;
};

/// A primitive with its arguments, as the C interface takes them: the C++ interface makes a list of
/// them at every call.
class Call {
 public:
  explicit Call(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}
  void add(int argument, const dnnl::memory& memory);
  dnnl_status_t execute(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // keeps what the arguments point to
  std::vector<dnnl_exec_arg_t> arguments_;
};

class BoundCalls final : public BoundKernel {
 public:
  /// `name` is the op's, for messages.
  BoundCalls(const Engine& engine, std::string_view name, std::vector<Call> calls)
      : engine_(engine), name_(name), calls_(std::move(calls)) {}
  /// Allocates nothing; oneDNN does, some hundred bytes for each call.
  void run() override;

 private:
  const Engine& engine_;
  std::string_view name_;
  std::vector<Call> calls_;
};

/// Lays pieces out in a workspace, each on cache lines of its own.
class WorkspacePlan {
 public:
  /// The offset of a new piece.
  std::size_t reserve(const dnnl::memory::desc& description);
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

 private:
  std::size_t bytes_ = 0;
};

/// Scratch memory is to be an argument of the primitive.
dnnl::primitive_attr with_scratchpad();

}  // namespace hocket::library
