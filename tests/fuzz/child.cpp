#include "child.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace hocket::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void be_child(const std::function<int()>& work, const ChildLimits& limits) {
  if (limits.bytes > 0 && !sanitized()) {
    rlimit limit{limits.bytes, limits.bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (limits.quiet && std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  int code = work();
  std::fflush(nullptr);
  _exit(code);  // no destructors of what the parent owns
}

}  // namespace

bool sanitized() { return std::string_view(HOCKET_FUZZ_SANITIZE) != ""; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ChildEnd run_child(const std::function<int()>& work, const ChildLimits& limits) {
  std::fflush(nullptr);
  auto start = Clock::now(), since = start;
  pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) be_child(work, limits);
  ChildEnd end;
  int status = 0;
  rusage usage{};
  for (std::uint64_t last = 0; wait4(child, &status, WNOHANG, &usage) != child;
       std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    std::uint64_t now = limits.progress != nullptr ? limits.progress->load() : 0;
    if (std::exchange(last, now) != now) since = Clock::now();
    if (seconds_since(since) < limits.seconds) continue;
    end.hung = true;
    kill(child, SIGKILL);
    wait4(child, &status, 0, &usage);
    break;
  }
  end.signaled = WIFSIGNALED(status);
  end.code = end.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
  end.seconds = seconds_since(start);
  end.peak_bytes = static_cast<std::size_t>(usage.ru_maxrss) << 10;
  return end;
}

std::string describe(const ChildEnd& end) {
  if (end.hung) return fmt::format("no end after {:.0f} s", end.seconds);
  return fmt::format("{} {}", end.signaled ? "ended by signal" : "exited with", end.code);
}

}  // namespace hocket::fuzz
