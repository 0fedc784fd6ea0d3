#pragma once
// Models saved with torch.export: `model.pt2`, a zip archive of a graph and its tensors.

#include <map>
#include <string>

#include "hocket/frontend/formats/archive.h"
#include "hocket/frontend/source.h"

namespace hocket::frontend {

struct Pt2 {
  /// Parameters and buffers become state, user inputs become inputs, tensor constants become
  /// constants. Arguments are in `kwargs`, by the names of the operator's schema; a result of a
  /// node with several is read as Ref{node, i}. Outputs: the results of the model in order, then
  /// the new values of inputs that it writes into (under the input's name).
  Source source;
  /// The values of parameters and buffers, by the name of their placeholder.
  std::map<std::string, Tensor, std::less<>> tensors;
};

/// Schema version 8, static shapes. Throws Error.
Pt2 read_pt2(const std::string& path);
Pt2 read_pt2(const Archive& archive, const std::string& where);

}  // namespace hocket::frontend
