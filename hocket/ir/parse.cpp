#include "hocket/ir/parse.h"

#include <unordered_set>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ir/lexer.h"
#include "hocket/ir/parse_parts.h"
#include "hocket/ir/verify.h"

namespace hocket {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::span<const Op* const> ops) : lex_(text), ops_(ops) {}

  Program program(const ProgramCheck& check) {
    Program p;
    p.world = std::make_shared<const World>(world());
    world_ = p.world;
    if (lex_.at_end()) lex_.unexpected("'graph'");
    while (!lex_.at_end()) graph(p);
    require(find_class_violation(p));
    if (check) require(check(p));
    return p;
  }

 private:
  using Places = std::vector<std::size_t>;  // by node: the offset of its statement

  struct Body {
    Graph& graph;
    Places& places;
    int depth;
    std::vector<NodeId> without_channel = {};
    std::int64_t highest_channel = -1;
  };

  void require(const std::optional<ProgramViolation>& v) const {
    if (v)
      lex_.fail_at(v->node ? graph_places_[v->graph][v->node.index] : graph_starts_[v->graph],
                   v->message);
  }

  // ---- header

  /// Runs f; adds the place where the statement begins, `start`, to an Error.
  template <class F>
  auto placed(std::size_t start, F f) {
    try {
      return f();
    } catch (const Error& e) {
      lex_.fail_at(start, e.what());
    }
  }

  World world() {
    std::size_t start = lex_.position();
    World world = placed(start, [axes = mesh()] { return World(axes); });
    while (lex_.peek_word() == "group") {
      start = lex_.position();
      placed(start, [&, group = listed_group()] { world.add_group(group); });
    }
    if (lex_.peek_word() == "mesh") lex_.unexpected("it once, in front of all groups");
    return world;
  }

  std::vector<Axis> mesh() {
    std::vector<Axis> axes;
    if (!lex_.accept_word("mesh")) return axes;
    lex_.expect('(', "after 'mesh'");
    do {
      std::string name(lex_.word("the name of a mesh axis"));
      lex_.expect('=', "after the name of a mesh axis");
      axes.push_back({std::move(name), lex_.integer("the size of a mesh axis")});
    } while (lex_.accept(','));
    lex_.expect(')', "after the mesh axes");
    return axes;
  }

  ListedGroup listed_group() {
    lex_.accept_word("group");
    ListedGroup group{lex_.string("the name of a group, in quotes"), {}};
    lex_.expect('=', "after the name of a group");
    lex_.expect('[', "before the sets of a group");
    do group.sets.push_back(ranks());
    while (lex_.accept(','));
    lex_.expect(']', "after the sets of a group");
    return group;
  }

  std::vector<int> ranks() {
    std::vector<int> list;
    lex_.expect('[', "before ranks");
    do {
      std::size_t at = lex_.position();
      std::int64_t rank = lex_.integer("a rank");
      if (rank < 0 || rank >= max_ranks)
        lex_.fail_at(at, fmt::format("rank {} is out of range", rank));
      list.push_back(static_cast<int>(rank));
    } while (lex_.accept(','));
    lex_.expect(']', "after ranks");
    return list;
  }

  void graph(Program& p) {
    std::size_t start = lex_.position();
    if (!lex_.accept_word("graph"))
      lex_.unexpected(!p.graphs.empty() ? "another 'graph' or the end"
                      : world_->mesh().empty() && world_->groups().empty()
                          ? "'mesh', 'group' or 'graph'"
                          : "'group' or 'graph'");
    std::string name(lex_.word("the name of the graph"));
    Graph& g = p.graphs.emplace_back(std::move(name), world_);
    if (lex_.accept_word("on")) g.set_ranks(ranks());
    graph_starts_.push_back(start);
    Places& places = graph_places_.emplace_back();
    inputs(g, places);
    note(places, g.return_node(), start);
    body({g, places, 0});
    if (auto v = find_violation(g)) lex_.fail_at(place_of(places, *v, start), describe(g, *v));
  }

  static void note(Places& places, NodeId n, std::size_t offset) {
    if (n.index >= places.size()) places.resize(n.index + 1);
    places[n.index] = offset;
  }

  static std::size_t place_of(const Places& places, const Violation& v, std::size_t fallback) {
    return v.node.index < places.size() && v.node ? places[v.node.index] : fallback;
  }

  // ---- inputs

  void inputs(Graph& g, Places& places) {
    lex_.expect('(', "before the inputs");
    if (lex_.accept(')')) return;
    do input(g, places);
    while (lex_.accept(','));
    lex_.expect(')', "after the inputs");
  }

  void input(Graph& g, Places& places) {
    std::size_t start = lex_.position();
    std::string_view name = parse_value_name(lex_);
    if (g.find(name)) lex_.fail_at(start, fmt::format("the name %{} is taken", name));
    lex_.expect(':', "after the name of an input");
    InputInfo info;
    info.state = lex_.accept_word("state");
    Type t = parse_type(lex_);
    while (lex_.peek() == '"') info.names.push_back(lex_.string("a source name"));
    if (info.state) state(info);
    Value v = g.add_input(t, name, std::move(info));
    note(places, g.node(v), start);
  }

  void state(InputInfo& info) {
    std::string_view word = lex_.peek_word();
    if (auto kind = find_state_kind(word)) {
      lex_.accept_word(word);
      info.kind = *kind;
      if (lex_.accept('(')) {
        std::size_t at = lex_.position();
        std::int64_t slots = lex_.integer("a number of slots");
        if (slots < 1 || slots > max_slots)
          lex_.fail_at(at, fmt::format("{} slots, wanted 1 to {}", slots, max_slots));
        info.slots = static_cast<int>(slots);
        lex_.expect(')', "after the number of slots");
      }
    }
    if (lex_.accept_word("shard")) {
      lex_.expect('(', "after 'shard'");
      ShardOf shard{lex_.string("a group, in quotes"), {}};
      lex_.expect(',', "after the group");
      shard.type = parse_type(lex_);
      lex_.expect(')', "after the sharded type");
      info.shard = std::move(shard);
    }
    if (lex_.accept_word("equal")) {
      lex_.expect('(', "after 'equal'");
      do info.equal.push_back(lex_.string("a group, in quotes"));
      while (lex_.accept(','));
      lex_.expect(')', "after the groups");
    }
    if (lex_.peek_word().empty()) return;
    if (!info.equal.empty()) lex_.unexpected("',' or ')'");
    if (info.shard) lex_.unexpected("'equal', ',' or ')'");
    lex_.unexpected(
        "a kind of state (parameter, buffer, optimizer, rng, forwarded), 'shard', 'equal', ',' or "
        "')'");
  }

  // ---- body

  void body(Body b) {
    lex_.expect('{', "before the nodes");
    while (!lex_.accept('}')) {
      std::size_t start = lex_.position();
      if (lex_.accept_word("next")) {
        next(b);
      } else if (lex_.accept_word("return")) {
        note(b.places, b.graph.return_node(), start);
        outputs(b);
        lex_.expect('}', "after the return");
        break;
      } else {
        statement(b);
      }
    }
    if (max_channel - b.highest_channel < std::ssize(b.without_channel))
      lex_.fail_at(lex_.position(), fmt::format("no channel is left above {}", b.highest_channel));
    for (NodeId n : b.without_channel) b.graph.set_attribute(n, "channel", ++b.highest_channel);
  }

  void next(Body& b) {
    std::size_t at = lex_.position();
    Value state = value(b.graph);
    if (!b.graph.is_input(b.graph.node(state)) || !b.graph.input(state).state)
      lex_.fail_at(at, fmt::format("next %{}: it is not a state", b.graph.name(state)));
    if (b.graph.next(state))
      lex_.fail_at(at, fmt::format("next %{}: given twice", b.graph.name(state)));
    lex_.expect('=', "after the state");
    b.graph.set_next(state, value(b.graph));
  }

  void outputs(Body& b) {
    if (lex_.peek() == '}') return;
    do {
      std::string name;
      if (lex_.peek() == '"') {
        name = lex_.string("the name of an output");
        lex_.expect('=', "after the name of an output");
      } else if (lex_.peek() != '%') {
        name = lex_.dotted_word("the name of an output or a value");
        lex_.expect('=', "after the name of an output");
      }
      b.graph.add_output(std::move(name), value(b.graph));
    } while (lex_.accept(','));
  }

  Value value(const Graph& g) {
    std::size_t at = lex_.position();
    std::string_view name = parse_value_name(lex_);
    Value v = g.find(name);
    if (!v) unknown_value(g, at, name);
    return v;
  }

  [[noreturn]] void unknown_value(const Graph& g, std::size_t at, std::string_view name) {
    // The rest of this graph, up to a closing brace in the first column.
    std::string_view rest = lex_.text().substr(lex_.offset());
    rest = rest.substr(0, rest.find("\n}"));
    if (rest.find(fmt::format("%{}:", name)) != rest.npos)
      lex_.fail_at(at, fmt::format("%{} is read before it is defined", name));
    std::vector<std::string> names;
    for (std::uint32_t i = 1; i < g.value_bound() && i < 1000; ++i)
      names.push_back(g.name(Value{i}));
    std::vector<std::string_view> known(names.begin(), names.end());
    std::string_view near = nearest(name, known);
    lex_.fail_at(at, near.empty() ? fmt::format("unknown value %{}", name)
                                  : fmt::format("unknown value %{}; nearest is %{}", name, near));
  }

  void statement(Body& b) {
    std::size_t start = lex_.position();
    std::vector<std::string_view> names;
    std::unordered_set<std::string_view> here;
    std::vector<Type> types;
    if (lex_.peek() == '%') {
      do {
        std::size_t at = lex_.position();
        std::string_view name = parse_value_name(lex_);
        if (b.graph.find(name) || !here.insert(name).second)
          lex_.fail_at(at, fmt::format("the name %{} is taken", name));
        names.push_back(name);
        lex_.expect(':', "after the name of a result");
        types.push_back(parse_type(lex_));
      } while (lex_.accept(','));
      lex_.expect('=', "after the results");
    }
    const Op& op = ops_.read(
        lex_, names.empty() ? "a result such as %y, an op, 'next', 'return' or '}'" : "an op");
    std::vector<Value> inputs;
    std::vector<std::uint32_t> sizes =
        parse_operands(lex_, op, [&] { inputs.push_back(value(b.graph)); });
    std::vector<Named> given = parse_attributes(lex_);
    bool has_channel = false;
    for (const Named& a : given) {
      if (a.name != "channel") continue;
      has_channel = true;
      const auto* channel = std::get_if<std::int64_t>(&a.value);
      if (channel != nullptr && *channel < 0)
        lex_.fail_at(start, fmt::format("channel {}, wanted at least 0", *channel));
    }
    std::shared_ptr<const Graph> inner;
    if (lex_.accept_word("region")) inner = region(b, start);
    std::string path;
    if (lex_.accept('@')) path = lex_.string("a module path, in quotes");
    int stage = lex_.accept_word("stage") ? small_number("stage", "a stage") : 0;
    int delay = lex_.accept_word("delay") ? small_number("delay", "a number of iterations") : 0;

    NodeId n;
    try {
      Attributes attributes(op, given);
      if (op.writes_lists()) attributes = attributes.with_list_sizes(std::move(sizes));
      if (types.empty() && op.typed_by_result) fail("{}: found no result, wanted one", op.name);
      n = b.graph.add(b.graph, {.op = &op,
                                .inputs = inputs,
                                .attributes = std::move(attributes),
                                .names = names,
                                .types = types,
                                .path = path,
                                .delay = delay,
                                .stage = stage,
                                .region = std::move(inner)});
    } catch (const Error& e) {
      lex_.fail_at(start, names.empty() ? e.what() : fmt::format("%{} = {}", names[0], e.what()));
    }
    if (b.graph[n].result_count != types.size())
      lex_.fail_at(start, fmt::format("{}: found {}, wanted {}", op.name,
                                      count_of(static_cast<std::int64_t>(types.size()), "result"),
                                      b.graph[n].result_count));
    note(b.places, n, start);
    if ((op.is_collective || op.has_effect) && op.attribute_index("channel") >= 0) {
      if (has_channel)
        b.highest_channel = std::max(b.highest_channel, b.graph[n].attr<std::int64_t>("channel"));
      else
        b.without_channel.push_back(n);
    }
  }

  std::shared_ptr<const Graph> region(Body& b, std::size_t start) {
    if (b.depth + 1 > max_region_depth)
      lex_.fail_at(start, fmt::format("regions nest deeper than {} [regions]", max_region_depth));
    auto inner = std::make_shared<Graph>("region", world_);
    Places places;
    inputs(*inner, places);
    body({*inner, places, b.depth + 1});
    return inner;
  }

  int small_number(std::string_view word, std::string_view wanted) {
    lex_.expect('=', fmt::format("after '{}'", word));
    std::size_t at = lex_.position();
    std::int64_t n = lex_.integer(wanted);
    if (n < -(1 << 20) || n > 1 << 20)
      lex_.fail_at(at, fmt::format("{} {} is out of range", word, n));
    return static_cast<int>(n);
  }

  Lexer lex_;
  OpNames ops_;
  std::shared_ptr<const World> world_;
  std::vector<std::size_t> graph_starts_;
  std::vector<Places> graph_places_;
};

}  // namespace

Program parse(std::string_view text, std::span<const Op* const> ops, const ProgramCheck& check) {
  return Parser(text, ops).program(check);
}

}  // namespace hocket
