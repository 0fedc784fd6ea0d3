#pragma once
// Golden files: a program, passes, and what comes out (see golden/golden.cpp).

#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::testing {

struct Golden {
  std::string head;  // the comment lines
  std::string passes = "none";
  bool remarks = false;
  bool phases = false;  // show them instead of the body
  std::string input;
  std::string expected;
};

Golden read_golden(const std::string& path);

/// The paths of all, in order.
std::vector<std::string> golden_files();
/// `fold/example`
std::string golden_name(const std::string& path);

/// Programs without tables of constants and without large tensors.
bool can_be_run(const Program& program);
/// The same without delays: the interpreter runs them as they are.
bool is_plain(const Program& program);

}  // namespace hocket::testing
