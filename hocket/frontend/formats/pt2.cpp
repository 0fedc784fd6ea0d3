#include "hocket/frontend/formats/pt2.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/pt2_arguments.h"
#include "hocket/frontend/formats/pt2_values.h"

namespace hocket::frontend {
namespace {

constexpr std::int64_t schema_major = 8;

/// The module that a node came from: the second field of the last of `key,fqn,class;...`. Commas
/// within brackets belong to a field.
std::string module_path(std::string_view stack) {
  std::string_view last = stack.substr(stack.rfind(';') + 1);
  std::vector<std::string_view> fields;
  std::size_t start = 0;
  int open = 0;
  for (std::size_t i = 0; i <= last.size(); ++i) {
    char c = i < last.size() ? last[i] : ',';
    if (c == '[' || c == '(') ++open;
    if (c == ']' || c == ')') --open;
    if (c != ',' || (open > 0 && i < last.size())) continue;
    fields.push_back(last.substr(start, i - start));
    start = i + 1;
  }
  if (fields.size() != 3) return "";
  std::string_view path = fields[1];
  // The second call of a module is written `name@1`; it is the same module.
  std::size_t at = path.rfind('@');
  bool number = at != path.npos && at + 1 < path.size() &&
                path.find_first_not_of("0123456789", at + 1) == path.npos;
  return std::string(number ? path.substr(0, at) : path);
}

std::string target_name(std::string_view target) {
  for (auto [from, to] : {std::pair<std::string_view, std::string_view>{"torch.ops.", ""},
                          {"_operator.", "operator."}})
    if (target.starts_with(from)) return fmt::format("{}{}", to, target.substr(from.size()));
  return std::string(target);
}

class ExportReader {
 public:
  ExportReader(Json root, Payloads& payloads, std::string where)
      : root_(root),
        module_(root.at("graph_module")),
        graph_(module_.at("graph")),
        payloads_(payloads),
        values_(graph_.at("tensor_values")) {
    out_.source.where = std::move(where);
    out_.source.differentiable = true;
  }

  Pt2 read() {
    std::int64_t major = root_.at("schema_version").at("major").integer();
    if (major != schema_major)
      root_.refuse(fmt::format("schema version {}, wanted {}", major, schema_major));
    Json signature = module_.at("signature");
    for (Json spec : signature.at("input_specs").array()) read_input(spec);
    load_tensors();
    for (Json node : graph_.at("nodes").array()) read_node(node);
    read_outputs(signature.at("output_specs"));
    return std::move(out_);
  }

 private:
  std::uint32_t next_index() const { return static_cast<std::uint32_t>(nodes().size()); }
  std::vector<SourceNode>& nodes() { return out_.source.nodes; }
  const std::vector<SourceNode>& nodes() const { return out_.source.nodes; }

  // ---- inputs

  void read_input(Json spec) {
    auto [kind, content] = read_union(spec);
    if (kind == "parameter" || kind == "buffer") {
      std::string_view name =
          content.at(kind == "parameter" ? "parameter_name" : "buffer_name").string();
      read_state(content.at("arg"), name,
                 kind == "parameter" ? StateKind::parameter : StateKind::buffer);
    } else if (kind == "tensor_constant") {
      read_constant(content.at("arg"), content.at("tensor_constant_name").string());
    } else if (kind == "user_input") {
      read_user_input(content.at("arg"));
    } else if (kind == "constant_input") {
      // A number or string for which the graph was specialised: no node reads it.
      values_.read_argument(content.at("value"));
    } else if (kind == "custom_obj" || kind == "token") {
      spec.refuse(fmt::format("a {}, wanted tensors and numbers",
                              kind == "token" ? "token of an effect" : "custom object"));
    } else {
      spec.refuse(fmt::format("input of unknown kind {}", shown(kind)));
    }
  }

  SourceNode& add_input(Json arg, SourceNode::Kind kind) {
    std::string_view name = arg.at("name").string();
    values_.define(arg, name, Ref{.node = next_index()});
    require_new_node(arg, name);
    nodes().push_back({.kind = kind, .name = std::string(name), .meta = values_.meta(arg, name)});
    return nodes().back();
  }

  const Payloads::Payload& payload_of(Json arg, const SourceNode& node, std::string_view name,
                                      bool constant) const {
    const Payloads::Payload& payload = payloads_.find(name, constant);
    if (payload.meta.type != *node.meta.type)
      arg.refuse(fmt::format("{}, but {} is saved as {}", to_text(*node.meta.type), shown(name),
                             to_text(payload.meta.type)));
    return payload;
  }

  void read_state(Json arg, std::string_view name, StateKind kind) {
    std::uint32_t index = next_index();
    if (!states_.emplace(name, index).second)
      arg.refuse(fmt::format("a second input for {}", shown(name)));
    SourceNode& node = add_input(arg, SourceNode::Kind::placeholder);
    node.input = {.names = {std::string(name)}, .state = true, .kind = kind};
    const Payloads::Payload& payload = payload_of(arg, node, name, false);
    node.same_as = find_shared(arg, payload, index);
    if (!node.same_as) to_load_.emplace_back(&payload, index);
  }

  /// The earlier state that is the same view of the same bytes. Partly overlapping views are
  /// refused, because a write through one would change the other.
  std::optional<std::uint32_t> find_shared(Json arg, const Payloads::Payload& payload,
                                           std::uint32_t index) {
    if (payload.first == payload.last) return std::nullopt;
    auto& views = views_[payload.entry];
    auto at = views.lower_bound(payload.last);
    if (at != views.begin() && (--at)->second.first->last > payload.first) {
      auto [other, node] = at->second;
      if (other->meta == payload.meta) return node;
      arg.refuse(
          fmt::format("shares some bytes with {}, wanted all or none", shown(nodes()[node].name)));
    }
    views.emplace(payload.first, std::pair(&payload, index));
    return std::nullopt;
  }

  /// In the order of entries, because one entry may contain several views.
  void load_tensors() {
    std::ranges::stable_sort(to_load_, {}, [](const auto& t) { return t.first->entry; });
    for (auto [payload, index] : to_load_) {
      const SourceNode& node = nodes()[index];
      Tensor tensor = payloads_.load(*payload);
      if (node.kind == SourceNode::Kind::constant)
        out_.source.constants.emplace(node.target, std::move(tensor));
      else
        out_.tensors.emplace(node.name, std::move(tensor));
    }
    for (const SourceNode& node : nodes())
      if (node.same_as)
        out_.tensors.emplace(node.name, out_.tensors.at(nodes()[*node.same_as].name));
  }

  void read_constant(Json arg, std::string_view name) {
    SourceNode& node = add_input(arg, SourceNode::Kind::constant);
    node.target = name;
    const Payloads::Payload& payload = payload_of(arg, node, name, true);
    if (constants_.emplace(name).second) to_load_.emplace_back(&payload, next_index() - 1);
  }

  void read_user_input(Json arg) {
    auto [kind, content] = read_union(arg);
    if (kind != "as_tensor")
      arg.refuse(fmt::format("{}, wanted a tensor",
                             kind.starts_with("as_sym") ? "a number that varies" : shown(kind)));
    SourceNode& node = add_input(content, SourceNode::Kind::placeholder);
    node.input.names = {node.name};
    user_inputs_.insert(content.at("name").string());
  }

  // ---- nodes

  void require_new_node(Json at, std::string_view name) {
    if (!node_names_.emplace(name).second) at.refuse(fmt::format("a second node {}", shown(name)));
  }

  void read_node(Json value) {
    SourceNode node{.target = target_name(value.at("target").string())};
    for (Json input : value.at("inputs").array()) read_input_argument(input, node);
    require_once(value, node);
    if (auto metadata = value.find("metadata"))
      if (auto stack = metadata->find("nn_module_stack")) node.path = module_path(stack->string());
    read_results(value.at("outputs"), node);
    if (auto name = value.find("name"); name && !name->is_null()) node.name = name->string();
    if (node.name.empty()) node.name = fmt::format("node_{}", next_index());
    require_new_node(value, node.name);
    nodes().push_back(std::move(node));
  }

  void read_input_argument(Json input, SourceNode& node) const {
    std::string_view name = input.at("name").string();
    Argument argument = values_.read_argument(input.at("arg"));
    if (name.empty()) {
      node.args.push_back(std::move(argument));
      return;
    }
    node.kwargs.emplace_back(name, std::move(argument));
  }

  void require_once(Json at, const SourceNode& node) const {
    std::vector<std::string_view> names;
    for (const auto& [name, argument] : node.kwargs) names.push_back(name);
    std::ranges::sort(names);
    auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end())
      at.refuse(fmt::format("argument {} stands there twice", shown(*twice)));
  }

  void read_results(Json outputs, SourceNode& node) {
    std::vector<Json> results(outputs.array().begin(), outputs.array().end());
    if (results.size() == 1) {
      auto [kind, content] = read_union(results[0]);
      if (kind == "as_tensor") {
        node.name = content.at("name").string();
        node.meta = read_result(content, -1);
        return;
      }
      if (kind == "as_tensors") {
        results.assign(content.array().begin(), content.array().end());
        for (std::size_t i = 0; i < results.size(); ++i)
          node.meta.list.push_back(read_result(results[i], static_cast<std::int32_t>(i)));
        return;
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto [kind, content] = read_union(results[i]);
      if (kind == "as_none")
        node.meta.list.emplace_back();
      else if (kind == "as_tensor")
        node.meta.list.push_back(read_result(content, static_cast<std::int32_t>(i)));
      else if (kind.starts_with("as_sym"))
        results[i].refuse(
            "a result that is a size, wanted static shapes (export without dynamic_shapes)");
      else
        results[i].refuse(fmt::format("a result {}, wanted tensors", shown(kind)));
    }
  }

  Meta read_result(Json content, std::int32_t result) {
    std::string_view name = content.at("name").string();
    values_.define(content, name, Ref{.node = next_index(), .result = result});
    return values_.meta(content, name);
  }

  // ---- outputs

  void read_outputs(Json specs) {
    SourceNode output{.kind = SourceNode::Kind::output, .name = "output", .target = "output"};
    List values, written;
    std::vector<std::string> names, written_names;
    bool named = false;
    for (Json spec : specs.array()) {
      auto [kind, content] = read_union(spec);
      auto name_of = [&c = content](std::string_view key) { return c.at(key).string(); };
      auto add = [&](Argument value, std::string name) {
        named |= !name.empty();
        values.push_back(std::move(value));
        names.push_back(std::move(name));
      };
      if (kind == "user_output") {
        add(values_.read_argument(content.at("arg")), "");
      } else if (kind == "loss_output") {
        add(values_.find(content.at("arg")), "loss");
      } else if (kind == "gradient_to_parameter" || kind == "gradient_to_user_input") {
        bool user = kind == "gradient_to_user_input";
        add(values_.find(content.at("arg")),
            fmt::format("grad.{}", name_of(user ? "user_input_name" : "parameter_name")));
      } else if (kind == "buffer_mutation" || kind == "parameter_mutation") {
        add_mutation(content,
                     name_of(kind == "buffer_mutation" ? "buffer_name" : "parameter_name"));
      } else if (kind == "user_input_mutation") {
        std::string name(name_of("user_input_name"));
        if (!user_inputs_.contains(name)) content.refuse(fmt::format("no input {}", shown(name)));
        written.push_back(values_.find(content.at("arg")));
        written_names.push_back(std::move(name));
      } else if (kind == "token") {
        spec.refuse("a token of an effect, wanted tensors");
      } else {
        spec.refuse(fmt::format("output of unknown kind {}", shown(kind)));
      }
    }
    std::ranges::move(written, std::back_inserter(values));
    std::ranges::move(written_names, std::back_inserter(names));
    output.args.emplace_back(std::move(values));
    if (named || !written.empty()) out_.source.output_names = std::move(names);
    nodes().push_back(std::move(output));
  }

  void add_mutation(Json content, std::string_view name) {
    auto state = states_.find(name);
    if (state == states_.end()) content.refuse(fmt::format("no state {}", shown(name)));
    std::uint32_t placeholder = nodes()[state->second].same_as.value_or(state->second);
    if (!mutated_.emplace(placeholder).second)
      content.refuse(fmt::format("a second new value for {}", shown(name)));
    out_.source.mutations.push_back(
        {.value = values_.find(content.at("arg")), .placeholder = placeholder});
  }

  Json root_, module_, graph_;
  Payloads& payloads_;
  Pt2 out_;
  NamedValues values_;
  std::unordered_map<std::string_view, std::uint32_t> states_;  // by name in the model
  std::set<std::string> node_names_;
  std::set<std::string_view> user_inputs_, constants_;
  std::set<std::uint32_t> mutated_;
  using View = std::pair<const Payloads::Payload*, std::uint32_t>;
  std::map<std::string, std::map<std::int64_t, View>> views_;  // by entry and first byte; disjoint
  std::vector<View> to_load_;
};

/// The top folder of the archive, with its slash, and the path of the graph in it.
std::pair<std::string, std::string> find_model(const Archive& archive, const std::string& where) {
  std::string top, model;
  for (const Archive::Entry& entry : archive.entries()) {
    auto parts = split(entry.name, '/');
    std::size_t n = parts.size();
    if (n < 2 || n > 3 || parts[n - 2] != "models" || !parts[n - 1].ends_with(".json")) continue;
    if (!model.empty())
      fail("{}: two models, {} and {}, wanted one", where, shown(model), shown(entry.name));
    model = entry.name;
    top = n == 3 ? fmt::format("{}/", parts[0]) : "";
  }
  if (model.empty())
    fail(
        "{}: no entry models/NAME.json, wanted an archive of torch.export.save (PyTorch 2.8 or "
        "later)",
        where);
  return {top, model};
}

}  // namespace

Pt2 read_pt2(const Archive& archive, const std::string& where) {
  auto [top, model] = find_model(archive, where);
  std::string order(trim(archive.read(top + "byteorder", 64)));
  if (order != "little") fail("{}: byte order {}, wanted 'little'", where, shown(order));
  Payloads payloads(archive, top);
  JsonDocument document =
      JsonDocument::parse(archive.read(model, max_json_bytes), archive.place(model));
  return ExportReader(document.root(), payloads, where).read();
}

Pt2 read_pt2(const std::string& path) { return read_pt2(Archive::open(path), path); }

}  // namespace hocket::frontend
