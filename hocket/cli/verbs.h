#pragma once
// The verbs of the command line, as functions of plain options.

#include <string>
#include <vector>

namespace hocket::cli {

struct OptVerb {
  std::string source;
  std::string passes = "default";
  std::string output;
  std::vector<std::string> print_after;
  std::string dump;
  std::vector<std::string> skip;
  bool remarks = false;
};
int opt(const OptVerb& options);

struct CheckVerb {
  std::vector<std::string> sources;
};
int check(const CheckVerb& options);

struct ListVerb {
  std::string what;
};
int list(const ListVerb& options);

/// Writes to standard output; Error when it cannot take everything.
void print(const std::string& text);

}  // namespace hocket::cli
