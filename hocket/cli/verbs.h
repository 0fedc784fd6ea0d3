#pragma once
// The verbs of the command line, as functions of plain options.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hocket/base/remark.h"

namespace hocket::cli {

struct OptVerb {
  std::string source;
  std::string passes = "default";
  std::string output;
  std::vector<std::string> print_after;
  std::string dump;
  std::vector<std::string> skip;
  bool remarks = false, phases = false;
};
int opt(const OptVerb& options);

struct CheckVerb {
  std::vector<std::string> sources;
  std::string launch_order = "per-group";
};
int check(const CheckVerb& options);

struct RunVerb {
  std::vector<std::string> sources;
  std::string passes = "default";
  std::string backend = "library";
  int threads = 1;
  std::string comm = "in_process", link, trace, hang_report;
  double deadline = 60;
  std::optional<std::int64_t> ranks, iterations;
  std::optional<std::uint64_t> random_inputs;
  std::vector<std::int64_t> drain_after;
  std::int64_t memory_limit = 0;
  std::string state;
  bool check = false, certify = true, json = false, quiet = false;
  bool passes_given = false, backend_given = false;
};
int run(const RunVerb& options);

struct CompileVerb {
  std::string source;
  std::string passes = "default";
  std::string backend = "library";
  int threads = 1;
  std::int64_t memory_limit = 0;
  std::string output;
  bool remarks = false;
};
int compile(const CompileVerb& options);

struct ImportVerb {
  std::string source;
  std::string output;
  bool remarks = false;
};
int import_step(const ImportVerb& options);

struct ShowVerb {
  std::string source;
  std::string around;
  int distance = 2;
  bool memory = false;
  std::string svg;
};
int show(const ShowVerb& options);

struct ListVerb {
  std::string what;
};
int list(const ListVerb& options);

/// Writes one line to standard error.
void show(const Remark& remark);

/// Writes to standard output; Error when it cannot take everything.
void print(const std::string& text);

}  // namespace hocket::cli
