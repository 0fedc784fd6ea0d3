#pragma once
// Lists of passes with options that the order rules of the table allow.

#include <string>
#include <vector>

#include "hocket/passes/framework/table.h"
#include "support/random.h"

namespace hocket::testing {

/// The size of the tensors in a program: `usual` in a captured step, `tiny` in a random program.
enum class Tensors : std::uint8_t { usual, tiny };

/// Values to test for an option: both bools, the words that it lists, sizes that make a difference;
/// none for an option with free text.
std::vector<std::string> values_to_try(const OptionRow& option, Tensors tensors = Tensors::usual);

/// The pass, preceded by the passes that it needs.
std::vector<PassCall> with_needs(const PassTable& table, const PassCall& call);

/// A list of at most `most` passes that the table allows behind `applied` and that keep every bit,
/// each with options drawn from the values worth trying.
std::vector<PassCall> random_list(Random& random, const PassTable& table, std::size_t most,
                                  Tensors tensors = Tensors::usual,
                                  std::vector<std::string> applied = {});

/// The list as it is written on a command line.
std::string to_text(const std::vector<PassCall>& calls);

}  // namespace hocket::testing
