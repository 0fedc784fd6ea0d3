#pragma once
// The table of a program's constants: the values that its text names and does not hold.

#include <map>
#include <string>

#include "hocket/ir/program.h"

namespace hocket {

using ConstantTable = std::map<std::string, Tensor, std::less<>>;

/// Gives the program those values of a table that it refers to. Error when one has another type
/// than the text says; who runs it trusts that type.
void take_constants(Program& program, const ConstantTable& table);

/// What a text needs beside it: the values that the program has and refers to.
ConstantTable used_constants(const Program& program);

/// Error when the program refers to a value that it does not have; `looked_in` says where it was
/// expected. A text may be read and optimised without its table, but not run.
void require_constants(const Program& program, const std::string& looked_in);

}  // namespace hocket
