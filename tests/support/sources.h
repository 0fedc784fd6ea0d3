#pragma once
// The captured steps and models that tests run: those of the repository and, if present, of the
// further data.

#include <string>
#include <vector>

namespace hocket::testing {

/// Sorted paths of folders that contain a step or a model with its values.
std::vector<std::string> sources();

/// The same, and the further graphs without values.
std::vector<std::string> sources_and_graphs();

/// A source as a word for the name of a test: `captures_mlp`, `captures_mlp_further`.
std::string source_name(const std::string& source);

}  // namespace hocket::testing
