#pragma once
// The steps and models that tests run: those of the repository and, where it exists, further data.

#include <string>
#include <vector>

namespace hocket::testing {

/// Folders with a step or a model and its values, sorted.
std::vector<std::string> sources();

/// A word for a source, good for a test's name: `captures_mlp`, `captures_mlp_further`.
std::string source_name(const std::string& source);

}  // namespace hocket::testing
