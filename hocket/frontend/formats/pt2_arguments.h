#pragma once
// Arguments of torch.export nodes, and the named values that they refer to.

#include <string_view>
#include <unordered_map>

#include "hocket/frontend/formats/json.h"
#include "hocket/frontend/source.h"

namespace hocket::frontend {

/// The values of a graph by name, each from its definition on. Holds views into the document.
class NamedValues {
 public:
  /// `metas` has types and strides by name.
  explicit NamedValues(Json metas);

  /// Gives the name to this value. Error, at `at`, for a name that is defined already.
  void define(Json at, std::string_view name, Ref value);
  /// The value that `{"name": NAME}` names.
  Ref find(Json argument) const;
  Meta meta(Json at, std::string_view name) const;
  /// Any argument, such as `{"as_ints": [1, 2]}`.
  Argument read_argument(Json value) const;

 private:
  std::unordered_map<std::string_view, Json> metas_;
  std::unordered_map<std::string_view, Ref> values_;
};

}  // namespace hocket::frontend
