#include "support/source_check.h"

#include <fmt/core.h>

#include <set>
#include <stdexcept>

namespace hocket::testing {
namespace {

using frontend::Argument;
using frontend::Dict;
using frontend::List;
using frontend::Meta;
using frontend::Ref;
using frontend::Slice;
using frontend::Source;
using frontend::SourceNode;
using Kind = SourceNode::Kind;

void require(bool good, std::string_view what) {
  if (!good) throw std::runtime_error(std::string(what));
}

template <class F>
void for_each_ref(const Argument& argument, const F& f) {
  if (const Ref* ref = argument.as<Ref>()) f(*ref);
  if (const List* list = argument.as<List>())
    for (const Argument& a : *list) for_each_ref(a, f);
  if (const Slice* slice = argument.as<Slice>())
    for (const Argument& a : slice->parts) for_each_ref(a, f);
  if (const Dict* dict = argument.as<Dict>())
    for (const auto& [key, a] : dict->entries) for_each_ref(a, f);
}

void require_meta(const Meta& meta) {
  if (meta.type) {
    require(count_elements(meta.type->shape).has_value(), "a shape out of bounds");
    require(meta.strides.empty() || meta.strides.size() == meta.type->shape.size(),
            "strides without dimensions");
  }
  for (const Meta& m : meta.list) require_meta(m);
}

void require_ref(const Source& source, Ref ref, std::size_t before) {
  require(ref.node < before, "a reference to a later node");
  const SourceNode& node = source.nodes[ref.node];
  require(node.kind != Kind::output, "a reference to the output");
  require(ref.result < static_cast<std::int32_t>(node.meta.list.size()), "no such result");
}

std::string describe(const Argument& argument, int depth = 0) {
  std::string text = fmt::format("{}", static_cast<char>('a' + argument.index()));
  if (const List* list = argument.as<List>(); list != nullptr && depth < 3)
    for (std::size_t i = 0; i < list->size() && i < 3; ++i) text += describe((*list)[i], depth + 1);
  return text;
}

}  // namespace

void require_sound(const Source& source) {
  require(!source.nodes.empty() && source.nodes.back().kind == Kind::output, "no output last");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < source.nodes.size(); ++i) {
    const SourceNode& node = source.nodes[i];
    if (node.kind != Kind::output)
      require(!node.name.empty() && names.insert(node.name).second, "a name twice");
    require(node.kind != Kind::output || i + 1 == source.nodes.size(), "an output within");
    require_meta(node.meta);
    auto check = [&](Ref ref) { require_ref(source, ref, i); };
    for (const Argument& a : node.args) for_each_ref(a, check);
    for (const auto& [name, a] : node.kwargs) for_each_ref(a, check);
    if (node.kind == Kind::placeholder || node.kind == Kind::constant)
      require(node.meta.type.has_value(), "an input that is no tensor");
    if (node.kind == Kind::constant)
      if (auto c = source.constants.find(node.target); c != source.constants.end())
        require(c->second.type() == *node.meta.type, "a constant of another type");
    if (node.same_as) {
      require(*node.same_as < i, "the same as a later one");
      const SourceNode& other = source.nodes[*node.same_as];
      require(other.kind == Kind::placeholder && !other.same_as && other.input.state &&
                  *other.meta.type == *node.meta.type,
              "the same as something else");
    }
  }
  for (const auto& m : source.mutations) {
    require_ref(source, m.value, source.nodes.size());
    require(m.placeholder < source.nodes.size() && source.nodes[m.placeholder].input.state &&
                !source.nodes[m.placeholder].same_as,
            "a mutation of what is no state");
  }
  if (!source.output_names.empty()) {
    const List* values = source.nodes.back().args.at(0).as<List>();
    require(values != nullptr && values->size() == source.output_names.size(),
            "names for other outputs");
  }
}

std::string features(const Source& source) {
  std::string out = fmt::format("world {}\n", source.world_size > 1 ? "many" : "one");
  for (const SourceNode& node : source.nodes) {
    std::string arguments;
    for (const Argument& a : node.args) arguments += describe(a) + " ";
    for (const auto& [name, a] : node.kwargs) arguments += describe(a) + "= ";
    out += fmt::format("node {} {} {} meta:{} {} {}\n", static_cast<char>('A' + int(node.kind)),
                       node.input.state ? name(node.input.kind) : "", arguments,
                       node.meta.type ? name(node.meta.type->dtype) : "",
                       std::string(std::min<std::size_t>(node.meta.list.size(), 4), 'x'),
                       node.same_as ? "same" : "");
  }
  if (!source.mutations.empty()) out += "mutations\n";
  if (!source.groups.empty()) out += "groups\n";
  if (!source.constants.empty()) out += "constants\n";
  if (!source.output_names.empty()) out += "output names\n";
  return out;
}

}  // namespace hocket::testing
