#include "hocket/frontend/formats/pt2_arguments.h"

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/json_values.h"
#include "hocket/frontend/formats/pt2_values.h"

namespace hocket::frontend {
namespace {

template <class F>
List read_list(Json value, F read_item) {
  List list;
  for (Json item : value.array()) list.push_back(read_item(item));
  return list;
}

Argument integer(Json v) { return v.integer(); }
Argument real(Json v) { return read_float(v); }
Argument boolean(Json v) { return v.boolean(); }
Argument string(Json v) { return std::string(v.string()); }
Argument integers(Json v) { return read_list(v, integer); }

/// A size that may be symbolic in the format. A name means a size that varies, which is refused.
Argument symbol(Json value) {
  auto [kind, content] = read_union(value);
  if (kind == "as_float") return read_float(content);
  if (kind == "as_bool") return content.boolean();
  return read_static_int(value);
}

}  // namespace

NamedValues::NamedValues(Json metas) {
  for (auto [name, meta] : metas.object()) metas_.emplace(name, meta);
}

void NamedValues::define(Json at, std::string_view name, Ref value) {
  if (name.empty()) at.refuse("a name that is empty");
  if (!values_.emplace(name, value).second)
    at.refuse(fmt::format("a second value {}", shown(name)));
}

Ref NamedValues::find(Json argument) const {
  std::string_view name = argument.at("name").string();
  auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  argument.refuse(fmt::format("reads {}, {}", shown(name),
                              metas_.contains(name)
                                  ? "which stands later: wanted nodes in execution order"
                                  : "but there is no such value"));
}

Meta NamedValues::meta(Json at, std::string_view name) const {
  auto found = metas_.find(name);
  if (found == metas_.end()) at.refuse(fmt::format("{} is not in tensor_values", shown(name)));
  TensorMeta meta = read_tensor_meta(found->second);
  return {.type = meta.type, .strides = meta.strides, .list = {}};
}

Argument NamedValues::read_argument(Json value) const {
  auto [kind, content] = read_union(value);
  auto tensor = [this](Json v) -> Argument { return find(v); };
  auto tensors = [&](Json v) -> Argument { return read_list(v, tensor); };
  auto any = [this](Json v) -> Argument { return read_argument(v); };
  if (kind == "as_tensor") return tensor(content);
  if (kind == "as_tensors") return tensors(content);
  if (kind == "as_int") return integer(content);
  if (kind == "as_ints") return integers(content);
  if (kind == "as_float") return real(content);
  if (kind == "as_floats") return read_list(content, real);
  if (kind == "as_bool") return boolean(content);
  if (kind == "as_bools") return read_list(content, boolean);
  if (kind == "as_string") return string(content);
  if (kind == "as_strings") return read_list(content, string);
  if (kind == "as_none") return {};
  if (kind == "as_scalar_type") return read_scalar_type(content);
  if (kind == "as_memory_format" || kind == "as_layout" || kind == "as_device") return Ignored{};
  if (kind == "as_optional_tensor") return any(content);
  if (kind == "as_optional_tensors") return read_list(content, any);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return symbol(content);
  if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools")
    return read_list(content, symbol);
  if (kind == "as_nested_tensors") return read_list(content, tensors);
  if (kind == "as_int_lists") return read_list(content, integers);
  if (kind == "as_string_to_argument") {
    Dict dict;
    for (auto [key, item] : content.object()) dict.entries.emplace_back(key, any(item));
    return dict;
  }
  if (kind == "as_graph") value.refuse("a graph as argument: control flow is not supported");
  if (kind == "as_complex") value.refuse("a complex number, wanted a real one");
  if (kind == "as_custom_obj") value.refuse("a custom object, wanted tensors and numbers");
  value.refuse(fmt::format("argument of unknown kind {}", shown(kind)));
}

}  // namespace hocket::frontend
