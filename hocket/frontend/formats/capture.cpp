#include "hocket/frontend/formats/capture.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/json.h"
#include "hocket/frontend/formats/json_values.h"

namespace hocket::frontend {
namespace {

constexpr std::string_view format_name = "fx-capture";
constexpr std::int64_t format_version = 1;

class CaptureReader {
 public:
  CaptureReader(Json root, std::string where) : root_(root) { source_.where = std::move(where); }

  Source read() {
    read_header();
    nodes_ = root_.at("nodes");
    // The list is not checked yet, so the reservation is limited.
    std::size_t count = std::min<std::size_t>(nodes_->array().size(), 1 << 20);
    source_.nodes.reserve(count);
    index_.reserve(count);
    for (Json node : nodes_->array()) {
      if (!source_.nodes.empty() && source_.nodes.back().kind == SourceNode::Kind::output)
        node.refuse("a node behind the output");
      node_ = node.at("name").string();
      source_.nodes.push_back(read_node(node));
      auto index = static_cast<std::uint32_t>(source_.nodes.size() - 1);
      if (node_.empty()) node.refuse("a name that is empty");
      if (!index_.emplace(node_, index).second)
        node.refuse(fmt::format("a second node {}", shown(node_)));
    }
    if (source_.nodes.empty() || source_.nodes.back().kind != SourceNode::Kind::output)
      nodes_->refuse("no output at the end");
    read_constants();
    return std::move(source_);
  }

 private:
  void read_header() {
    std::string_view format = root_.at("format").string();
    if (format != format_name)
      root_.refuse(fmt::format("format {}, wanted '{}'", shown(format), format_name));
    std::int64_t version = root_.at("version").integer();
    if (version != format_version)
      root_.refuse(fmt::format("version {}, wanted {}", version, format_version));
    std::int64_t world = root_.at("world_size").integer();
    if (world < 1 || world > max_ranks)
      root_.refuse(fmt::format("world_size {}, wanted 1 to {}", world, max_ranks));
    source_.world_size = static_cast<int>(world);
    if (auto groups = root_.find("groups"))
      for (auto [name, sets] : groups->object()) {
        auto& group = source_.groups[std::string(name)];
        for (Json set : sets.array()) {
          group.emplace_back();
          for (Json rank : set.array()) {
            std::int64_t r = rank.integer();
            if (r < 0 || r >= world)
              rank.refuse(fmt::format("rank {}, wanted 0 to {}", r, world - 1));
            group.back().push_back(static_cast<int>(r));
          }
        }
      }
  }

  SourceNode read_node(Json node) {
    using enum SourceNode::Kind;
    SourceNode out;
    out.name = node_;
    std::string_view op = node.at("op").string();
    if (auto meta = node.find("meta")) out.meta = read_meta(*meta);
    if (op == "call_function") {
      out.target = node.at("target").string();
      read_arguments(node, out);
    } else if (op == "placeholder") {
      out.kind = placeholder;
      out.input = read_input(node);
    } else if (op == "get_attr") {
      out.kind = constant;
      out.target = node.at("target").string();
      constants_.push_back(static_cast<std::uint32_t>(source_.nodes.size()));
    } else if (op == "output") {
      out.kind = output;
      read_arguments(node, out);
      name_outputs(out.args);
    } else if (op == "call_module") {
      refuse(node,
             "a call of a module, whose code is not in the file; wanted functions only, as "
             "make_fx writes them");
    } else {
      refuse(node, fmt::format("op {}, wanted placeholder, get_attr, call_function or output",
                               shown(op)));
    }
    if ((out.kind == placeholder || out.kind == constant) && !out.meta.type)
      refuse(node, "no dtype and shape in its meta, wanted a tensor");
    return out;
  }

  InputInfo read_input(Json node) const {
    std::string_view kind = node.at("kind").string();
    auto fqn = node.find("fqn");
    InputInfo info{.names = {std::string(fqn ? fqn->string() : node_)}, .state = kind != "input"};
    if (kind == "parameter")
      info.kind = StateKind::parameter;
    else if (kind == "optimizer_state")
      info.kind = StateKind::optimizer;
    else if (kind != "buffer" && kind != "input")
      refuse(node, fmt::format("kind {}, wanted parameter, buffer, optimizer_state or input",
                               shown(kind)));
    return info;
  }

  Meta read_meta(Json meta) const {
    Meta out;
    if (meta.is_array()) {
      for (Json item : meta.array()) out.list.push_back(read_meta(item));
    } else if (!meta.is_null()) {
      Type type{.dtype = read_dtype(meta.at("dtype"))};
      type.shape = read_shape(meta.at("shape"));
      if (auto stride = meta.find("stride")) out.strides = read_strides(*stride, type.shape.size());
      out.type = type;
    }
    return out;
  }

  DType read_dtype(Json value) const {
    std::string_view name = value.string();
    if (auto dtype = torch_dtype(name)) return *dtype;
    refuse(value, fmt::format("dtype {}, wanted {}", shown(name), torch_dtype_names()));
  }

  void read_arguments(Json node, SourceNode& out) const {
    for (Json value : node.at("args").array()) out.args.push_back(read_argument(value));
    if (auto kwargs = node.find("kwargs"))
      for (auto [key, value] : kwargs->object()) out.kwargs.emplace_back(key, read_argument(value));
  }

  Argument read_argument(Json value) const {
    switch (value.kind()) {
      case Json::Kind::null:
        return {};
      case Json::Kind::boolean:
        return value.boolean();
      case Json::Kind::integer:
        return value.integer();
      case Json::Kind::real:
        return value.number();
      case Json::Kind::string:
        return std::string(value.string());
      case Json::Kind::array:
        return read_list(value);
      case Json::Kind::object:
        break;
    }
    return read_tagged(value);
  }

  List read_list(Json value) const {
    List list;
    for (Json item : value.array()) list.push_back(read_argument(item));
    return list;
  }

  /// An object such as `{"node": NAME}`, whose only key gives the kind of value.
  Argument read_tagged(Json value) const {
    if (value.object().size() != 1)
      refuse(value, "wanted an object with one key, such as \"node\"");
    auto [key, content] = *value.object().begin();
    if (key == "node") return read_ref(content);
    if (key == "float") return read_float(content);
    if (key == "dtype") return read_dtype(content);
    if (key == "device" || key == "layout" || key == "memory_format") return Ignored{};
    if (key == "slice") {
      Slice slice{read_list(content)};
      if (slice.parts.size() != 3) content.refuse("wanted three parts of a slice");
      return slice;
    }
    if (key == "dict") {
      Dict dict;
      for (auto [name, item] : content.object())
        dict.entries.emplace_back(name, read_argument(item));
      return dict;
    }
    refuse(value, fmt::format("key {}, wanted node, float, dtype, device, layout, memory_format, "
                              "slice or dict",
                              shown(key)));
  }

  Ref read_ref(Json value) const {
    std::string_view name = value.string();
    auto found = index_.find(name);
    if (found != index_.end()) return {.node = found->second};
    bool later =
        std::ranges::any_of(names_in_file(), [&](std::string_view n) { return n == name; });
    refuse(value, fmt::format("reads {}, {}", shown(name),
                              later ? "which stands later: wanted nodes in execution order"
                                    : "but no node has that name"));
  }

  /// The names of all nodes that have one, for a message.
  std::vector<std::string_view> names_in_file() const {
    std::vector<std::string_view> names;
    for (Json node : nodes_->array())
      if (node.is_object())
        if (auto name = node.find("name"); name && name->is_string())
          names.push_back(name->string());
    return names;
  }

  /// Outputs in a dict, or nested ones, become a flat list with dotted names.
  void name_outputs(std::vector<Argument>& args) {
    if (args.size() != 1) return;
    bool nested = args[0].as<Dict>() != nullptr;
    if (const List* list = args[0].as<List>())
      nested = std::ranges::any_of(*list,
                                   [](const Argument& a) { return a.as<List>() || a.as<Dict>(); });
    if (!nested) return;
    List flat;
    flatten(args[0], "", flat);
    args[0] = std::move(flat);
  }

  void flatten(const Argument& value, const std::string& name, List& flat) {
    auto inner = [&](std::string_view key) {
      return name.empty() ? std::string(key) : fmt::format("{}.{}", name, key);
    };
    if (const List* list = value.as<List>()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        flatten((*list)[i], inner(std::to_string(i)), flat);
    } else if (const Dict* dict = value.as<Dict>()) {
      for (const auto& [key, item] : dict->entries) flatten(item, inner(key), flat);
    } else {
      flat.push_back(value);
      source_.output_names.push_back(name);
    }
  }

  void read_constants() {
    auto values = root_.find("constants");
    if (!values) return;
    std::map<std::string_view, Json> by_name;
    for (auto [name, value] : values->object()) by_name.emplace(name, value);
    for (std::uint32_t i : constants_) {
      const SourceNode& node = source_.nodes[i];
      auto value = by_name.find(node.target);
      if (value == by_name.end()) continue;
      auto known = source_.constants.find(node.target);
      if (known == source_.constants.end())
        source_.constants.emplace(node.target, read_tensor(value->second, *node.meta.type));
      else if (known->second.type() != *node.meta.type)
        value->second.refuse(fmt::format("{} for node {}, elsewhere {}", to_text(*node.meta.type),
                                         shown(node.name), to_text(known->second.type())));
    }
  }

  [[noreturn]] void refuse(Json at, std::string_view what) const {
    at.refuse(fmt::format("node {}: {}", shown(node_), what));
  }

  Json root_;
  Source source_;
  std::optional<Json> nodes_;
  std::string_view node_;  // the current one, for messages
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<std::uint32_t> constants_;  // the nodes
};

}  // namespace

Source read_capture(std::string_view json_text, std::string where) {
  JsonDocument document = JsonDocument::parse(json_text, where);
  return CaptureReader(document.root(), std::move(where)).read();
}

}  // namespace hocket::frontend
