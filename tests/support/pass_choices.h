#pragma once
// Passes with their options, as the table lets them be chosen.

#include <string>
#include <vector>

#include "hocket/passes/framework/table.h"
#include "support/random.h"

namespace hocket::testing {

/// Of the tensors in a program: a captured step, or a random program with a few elements each.
enum class Tensors : std::uint8_t { usual, tiny };

/// Values worth trying of an option: both bools, the words it lists, sizes that make a difference;
/// none where only its author knows what it may be.
std::vector<std::string> values_to_try(const OptionRow& option, Tensors tensors = Tensors::usual);

/// The pass, behind what it needs before it.
std::vector<PassCall> with_needs(const PassTable& table, const PassCall& call);

/// A list of at most `most` passes that the table allows behind `applied` and that keep every bit,
/// each with options drawn from the values worth trying.
std::vector<PassCall> random_list(Random& random, const PassTable& table, std::size_t most,
                                  Tensors tensors = Tensors::usual,
                                  std::vector<std::string> applied = {});

/// As it is written on a command line.
std::string to_text(const std::vector<PassCall>& calls);

}  // namespace hocket::testing
