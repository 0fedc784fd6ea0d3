#pragma once
// Golden files: a program, passes, and the expected result (see golden/golden.cpp).

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::testing {

struct Golden {
  std::string head;  // the comment lines
  std::string passes = "none";
  bool remarks = false;
  bool phases = false;  // the result shows the phases instead of the body
  std::string input;
  std::string expected;
};

Golden read_golden(const std::string& path);

/// The paths of all golden files, sorted.
std::vector<std::string> golden_files();
/// `fold/example`
std::string golden_name(const std::string& path);

/// True for a program without constant tables and without large tensors.
bool can_be_run(const Program& program);
/// The same, and without delays, so that the interpreter can run it directly.
bool is_plain(const Program& program);

}  // namespace hocket::testing
