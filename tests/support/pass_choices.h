#pragma once
// Passes with their options, as the table lets them be chosen.

#include <string>
#include <vector>

#include "hocket/passes/framework/table.h"

namespace hocket::testing {

/// Values worth trying of an option: both bools, the words it lists, sizes from tiny to usual; none
/// where only its author knows what it may be.
std::vector<std::string> values_to_try(const OptionRow& option);

/// The pass, behind what it needs before it.
std::vector<PassCall> with_needs(const PassTable& table, const PassCall& call);

/// As it is written on a command line.
std::string to_text(const std::vector<PassCall>& calls);

}  // namespace hocket::testing
