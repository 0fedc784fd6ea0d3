#pragma once
// The table of a program's constants: values that its text refers to by name.

#include <map>
#include <string>

#include "hocket/ir/program.h"

namespace hocket {

using ConstantTable = std::map<std::string, Tensor, std::less<>>;

/// Gives the program the values of a table that it refers to. Error when one has another type than
/// in the text: kernels rely on that type.
void take_constants(Program& program, const ConstantTable& table);

/// The values to write beside a text: those that the program has and refers to.
ConstantTable used_constants(const Program& program);

/// Error when the program refers to a value that it does not have; `looked_in` says where it was
/// expected. A text may be read and optimised without its table, but not run.
void require_constants(const Program& program, const std::string& looked_in);

}  // namespace hocket
