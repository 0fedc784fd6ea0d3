#include "hocket/ir/print.h"

#include <algorithm>
#include <limits>

#include "hocket/base/text.h"

namespace hocket {
namespace {

// An input list that would make a longer line is printed with one input per line.
constexpr std::size_t longest_line = 120;

bool is_empty_list(const Attribute& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (requires { v.empty(); } &&
                      !std::is_same_v<std::decay_t<decltype(v)>, std::string>)
          return v.empty();
        else
          return false;
      },
      value);
}

bool is_default(const AttributeSpec& spec, const Attribute& value) {
  return std::visit(
      [&](auto fallback) {
        using T = decltype(fallback);
        if constexpr (std::is_same_v<T, std::monostate>) {
          return is_empty_list(value);
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          const std::string* text = std::get_if<std::string>(&value);
          return text != nullptr && *text == fallback;
        } else {
          return same(value, Attribute(fallback));
        }
      },
      spec.fallback);
}

/// Dotted identifiers are printed as they are; any other output name is quoted.
bool is_output_word(std::string_view name) {
  return !name.empty() && (name.front() < '0' || name.front() > '9') && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '.' || is_identifier(std::string{'_', c});
         });
}

class Printer {
 public:
  std::string take() { return std::move(out_); }
  void blank_line() { out_ += '\n'; }

  void world(const World& world) {
    if (!world.mesh().empty()) {
      out_ += "mesh(";
      list(world.mesh(), [&](const Axis& a) {
        out_ += a.name;
        out_ += '=';
        append_number(out_, a.size);
      });
      out_ += ")\n";
    }
    for (const ListedGroup& g : world.groups()) {
      out_ += "group ";
      append_quoted(out_, g.name);
      out_ += " = [";
      for (std::size_t i = 0; i < g.sets.size(); ++i) {
        if (i > 0) out_ += ',';
        ranks(g.sets[i]);
      }
      out_ += "]\n";
    }
  }

  void graph(const Graph& g) {
    out_ += "graph ";
    out_ += g.name();
    if (!g.ranks().empty()) {
      out_ += " on ";
      ranks(g.ranks());
      out_ += ' ';
    }
    inputs(g);
    out_ += " {\n";
    body(g, 2);
    out_ += "}\n";
  }

  void node(const Graph& g, NodeId n, std::size_t indent) {
    const Node& node = g[n];
    for (std::uint32_t i = 0; i < node.result_count; ++i) {
      if (i > 0) out_ += ", ";
      value(g, g.result(n, i));
      out_ += ": ";
      append(out_, g.type(g.result(n, i)));
    }
    if (node.result_count > 0) out_ += " = ";
    out_ += node.op->name;
    operands(g, node);
    append(out_, *node.op, node.attributes);
    if (node.region) region(*node.region, indent);
    if (std::string_view path = g.path(n); !path.empty()) {
      out_ += " @";
      append_quoted(out_, path);
    }
    if (node.stage != 0) {
      out_ += " stage=";
      append_number(out_, std::int64_t{node.stage});
    }
    if (node.delay != 0) {
      out_ += " delay=";
      append_number(out_, std::int64_t{node.delay});
    }
  }

 private:
  template <class List, class Item>
  void list(const List& items, Item item) {
    bool first = true;
    for (const auto& i : items) {
      if (!first) out_ += ", ";
      first = false;
      item(i);
    }
  }

  void ranks(const std::vector<int>& ranks) {
    out_ += '[';
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i > 0) out_ += ',';
      append_number(out_, std::int64_t{ranks[i]});
    }
    out_ += ']';
  }

  void value(const Graph& g, Value v) {
    out_ += '%';
    g.append_name(out_, v);
  }

  void input(const Graph& g, const Input& in) {
    value(g, in.value);
    out_ += in.state ? ": state " : ": ";
    append(out_, g.type(in.value));
    for (const std::string& name : in.names) {
      out_ += ' ';
      append_quoted(out_, name);
    }
    if (!in.state) return;
    out_ += ' ';
    out_ += name(in.kind);
    if (in.slots != 1) {
      out_ += '(';
      append_number(out_, std::int64_t{in.slots});
      out_ += ')';
    }
    if (in.shard) {
      out_ += " shard(";
      append_quoted(out_, in.shard->group);
      out_ += ", ";
      append(out_, in.shard->type);
      out_ += ')';
    }
    if (!in.equal.empty()) {
      out_ += " equal(";
      for (std::size_t i = 0; i < in.equal.size(); ++i) {
        if (i > 0) out_ += ", ";
        append_quoted(out_, in.equal[i]);
      }
      out_ += ')';
    }
  }

  void inputs(const Graph& g) {
    std::size_t start = out_.size(), line = out_.rfind('\n') + 1;
    out_ += '(';
    list(g.inputs(), [&](const Input& in) { input(g, in); });
    out_ += ')';
    if (out_.size() + 2 - line <= longest_line || g.inputs().empty()) return;
    out_.resize(start);
    out_ += "(\n    ";
    bool first = true;
    for (const Input& in : g.inputs()) {
      if (!first) out_ += ",\n    ";
      first = false;
      input(g, in);
    }
    out_ += ')';
  }

  void operands(const Graph& g, const Node& node) {
    if (node.inputs.empty() && !node.op->writes_lists()) return;
    out_ += '(';
    if (node.op->writes_lists()) {
      for (std::size_t s = 0; s < node.op->operands.size(); ++s) {
        if (s > 0) out_ += ", ";
        bool listed = node.op->operands[s].count != Count::one;
        if (listed) out_ += '[';
        bool first = true;
        for (Value v : node.slot(s)) {
          if (!first) out_ += ',';
          first = false;
          value(g, v);
        }
        if (listed) out_ += ']';
      }
    } else {
      list(node.inputs, [&](Value v) { value(g, v); });
    }
    out_ += ')';
  }

  void region(const Graph& r, std::size_t indent) {
    out_ += " region";
    inputs(r);
    out_ += " {\n";
    body(r, indent + 2);
    out_.append(indent, ' ');
    out_ += '}';
  }

  void body(const Graph& g, std::size_t indent) {
    for (NodeId n : g.nodes()) {
      out_.append(indent, ' ');
      node(g, n, indent);
      out_ += '\n';
    }
    for (const Input& in : g.inputs()) {
      Value next = g.next(in.value);
      if (!next) continue;
      out_.append(indent, ' ');
      out_ += "next ";
      value(g, in.value);
      out_ += " = ";
      value(g, next);
      out_ += '\n';
    }
    auto outputs = g.outputs();
    if (outputs.empty()) return;
    out_.append(indent, ' ');
    out_ += "return ";
    list(outputs, [&](const Output& o) {
      if (!o.name.empty()) {
        append_output_name(out_, o.name);
        out_ += '=';
      }
      value(g, o.value);
    });
    out_ += '\n';
  }

  std::string out_;
};

}  // namespace

void append(std::string& out, const Op& op, const Attributes& attributes) {
  auto values = attributes.values();
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const AttributeSpec& spec = op.attributes[i];
    if (!spec.always_print && is_default(spec, values[i])) continue;
    out += any ? ", " : " {";
    any = true;
    out += spec.name;
    out += '=';
    append(out, values[i]);
  }
  if (any) out += '}';
}

void append_output_name(std::string& out, std::string_view name) {
  if (is_output_word(name))
    out += name;
  else
    append_quoted(out, name);
}

std::string to_text(const Program& program) {
  Printer p;
  p.world(*program.world);
  for (std::size_t i = 0; i < program.graphs.size(); ++i) {
    if (i > 0) p.blank_line();
    p.graph(program.graphs[i]);
  }
  return p.take();
}

std::string to_text(const Graph& graph) {
  Printer p;
  p.world(graph.world());
  p.graph(graph);
  return p.take();
}

std::string to_text(const Graph& graph, NodeId node) {
  Printer p;
  p.node(graph, node, 0);
  return p.take();
}

}  // namespace hocket
