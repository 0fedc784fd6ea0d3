#pragma once
// Finds the rows that translate the operators of the source.

#include <string>
#include <vector>

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

/// A row and the form of the call: `aten.add_.Tensor` is the row of `aten.add.Tensor`, written into
/// its first argument; `aten.add.out` is the same row, written into `out`; `aten.view_copy.default`
/// is that of `aten.view.default`, copied.
struct Found {
  enum class Form : std::uint8_t { plain, in_place, out, copied };
  const Row* row = nullptr;
  Form form = Form::plain;
};

/// The row of each call of the source. Throws Error with all operators that cannot be translated,
/// in one message.
std::vector<Found> find_rows(const Source& source);

/// The description of a node for messages.
std::string where_of(const SourceNode& node);

}  // namespace hocket::frontend
