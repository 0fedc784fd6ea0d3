#include "hocket/plan/instruction_parser.h"

#include <algorithm>
#include <limits>

#include "hocket/base/error.h"
#include "hocket/base/hash.h"
#include "hocket/base/text.h"
#include "hocket/plan/plan_label.h"

namespace hocket {
namespace {

template <class Map>
std::uint32_t known_name(Lexer& lex, std::size_t at, const Map& names, std::string_view name,
                         std::string_view what) {
  if (auto found = names.find(name); found != names.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& entry : names)
    if (known.size() < 1000) known.push_back(entry.first);
  lex.fail_at(at, fmt::format("unknown {}{}", what, nearest_hint(name, known)));
}

bool is_type(std::string_view word) { return word == "pending" || find_dtype(word).has_value(); }

}  // namespace

InstructionParser::InstructionParser(Lexer& lex, std::span<const Op* const> ops, Plan& plan)
    : lex_(lex), plan_(plan), ops_(ops), tables_(plan) {}

void InstructionParser::enter(const Graph& body, PlanGraph& graph) {
  body_ = &body;
  graph_ = &graph;
  labels_.emplace(graph);
  groups_ = {};
  inputs_.clear();
  outputs_.clear();
  std::uint32_t index = 0;
  for (const Input& in : body.inputs()) inputs_.emplace(body.name(in.value), index++);
  output_count_ = 0;
  for (const Output& o : body.outputs()) {
    if (!o.name.empty()) outputs_.emplace(o.name, output_count_);
    ++output_count_;
  }
}

// ---- numbers

void InstructionParser::expect_word(std::string_view word) {
  if (!lex_.accept_word(word)) lex_.unexpected(fmt::format("'{}'", word));
}

int InstructionParser::small_number(std::string_view wanted, int least) {
  std::size_t at = lex_.position();
  std::int64_t n = lex_.integer(wanted);
  constexpr int most = 1 << 20;
  if (n < least || n > most)
    lex_.fail_at(at, fmt::format("found {}, wanted {} from {} to {}", n, wanted, least, most));
  return static_cast<int>(n);
}

int InstructionParser::field(std::string_view word, int least) {
  expect_word(word);
  lex_.expect('=', fmt::format("after '{}'", word));
  return small_number("a number", least);
}

std::int64_t InstructionParser::wide_field(std::string_view word) {
  expect_word(word);
  lex_.expect('=', fmt::format("after '{}'", word));
  return lex_.integer("a number");
}

std::uint32_t InstructionParser::count_field(std::string_view word) {
  expect_word(word);
  lex_.expect('=', fmt::format("after '{}'", word));
  return count("a number");
}

std::uint32_t InstructionParser::count(std::string_view wanted) {
  std::size_t at = lex_.position();
  std::int64_t n = lex_.integer(wanted);
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  if (n < 0 || n > most)
    lex_.fail_at(at, fmt::format("found {}, wanted {} from 0 to {}", n, wanted, most));
  return static_cast<std::uint32_t>(n);
}

// ---- locations

Location InstructionParser::location() {
  std::size_t at = lex_.position();
  Type type = parse_type(lex_);
  if (type.pending)
    lex_.fail_at(at, fmt::format("found {}, wanted the type with which it arrives", to_text(type)));
  Location l;
  l.type = tables_.type(type);
  lex_.expect('@', "between type and offset");
  l.offset = lex_.integer("an offset in bytes");
  l.layout = lex_.peek() == '[' ? tables_.layout(layout()) : tables_.row_major(type);
  return l;
}

/// Sums and products of the numbers must not overflow.
Layout InstructionParser::layout() {
  std::size_t at = lex_.position();
  lex_.expect('[', "before the axes of a layout");
  std::vector<Layout::Axis> axes;
  Shape sizes;
  std::int64_t reach = 0;  // of all axes together
  if (!lex_.accept(']')) {
    do {
      Layout::Axis axis;
      axis.size = lex_.integer("the size of an axis");
      lex_.expect(':', "after the size of an axis");
      axis.stride = lex_.integer("the stride of an axis");
      axes.push_back(axis);
      sizes.push_back(axis.size);
      bool fits =
          count_elements(sizes) && axis.stride >= -max_elements && axis.stride <= max_elements;
      std::int64_t step = 0;
      if (fits && axis.size > 1)
        fits = !__builtin_mul_overflow(axis.size - 1, std::abs(axis.stride), &step) &&
               step <= max_elements && (reach += step) <= max_elements;
      if (!fits) lex_.fail_at(at, "the layout is too large");
    } while (lex_.accept(','));
    lex_.expect(']', "after the axes of a layout");
  }
  return Layout(axes);
}

void InstructionParser::add(PlanPhase& phase, const Location& l) {
  if (phase.locations.size() >= std::numeric_limits<std::uint32_t>::max())
    fail("a phase with too many locations");
  phase.locations.push_back(l);
}

// ---- homes

Home InstructionParser::home() {
  expect_word("home");
  Home home;
  if (lex_.accept_word("constant")) {
    home.kind = HomeKind::constant;
    home.constant = lex_.string("the name of a constant, in quotes");
  } else {
    home.input = input();
    if (lex_.peek_word() == "slot") home.slot = count_field("slot");
  }
  lex_.expect(':', "before the location of a home");
  home.location = location();
  return home;
}

std::uint32_t InstructionParser::input() {
  std::size_t at = lex_.position();
  std::string_view name = parse_value_name(lex_);
  return known_name(lex_, at, inputs_, name, fmt::format("input %{}", name));
}

std::uint32_t InstructionParser::output() {
  std::size_t at = lex_.position();
  if (!is_digit(lex_.peek())) {
    std::string name = lex_.peek() == '"'
                           ? lex_.string("an output")
                           : std::string(lex_.dotted_word("the name or number of an output"));
    return known_name(lex_, at, outputs_, name, "output " + quoted(name));
  }
  std::uint32_t index = count("an output");
  if (index >= output_count_)
    lex_.fail_at(at, fmt::format("output {}, but graph {} has {}", index, body_->name(),
                                 count_of(output_count_, "output")));
  return index;
}

// ---- instructions

Instruction InstructionParser::instruction(PlanPhase& phase) {
  std::size_t start = lex_.position();
  Instruction i;
  std::vector<Location> results;
  if (is_type(lex_.peek_word())) {
    do results.push_back(location());
    while (lex_.accept(','));
    lex_.expect('=', "after the results");
  }
  i.locations = static_cast<std::uint32_t>(phase.locations.size());
  body_of(phase, i, start);
  i.operands = static_cast<std::uint32_t>(phase.locations.size() - i.locations);
  for (const Location& l : results) add(phase, l);
  i.results = static_cast<std::uint32_t>(results.size());
  i.label = label(i);
  return i;
}

void InstructionParser::body_of(PlanPhase& phase, Instruction& i, std::size_t start) {
  if (lex_.accept_word("copy")) {
    i.kind = InstructionKind::copy;
    lex_.expect('(', "before what is copied");
    operand(phase);
    lex_.expect(')', "after what is copied");
    expect_word("because");
    i.index = tables_.reason(lex_.string("a reason, in quotes"));
  } else if (lex_.accept_word("start")) {
    i.kind = InstructionKind::start;
    i.index = count("the number of a transfer");
    phase.transfers = std::max(phase.transfers, i.index + 1);
    call(phase, i, start);
    i.lane = lane(i, start);
  } else if (lex_.accept_word("wait")) {
    i.kind = InstructionKind::wait;
    i.index = count("the number of a transfer");
    phase.transfers = std::max(phase.transfers, i.index + 1);
  } else if (lex_.accept_word("input")) {
    i.kind = InstructionKind::input;
    i.index = input();
  } else if (lex_.accept_word("output")) {
    i.kind = InstructionKind::output;
    i.index = output();
    lex_.expect('=', "after the name of an output");
    operand(phase);
  } else {
    i.kind = InstructionKind::kernel;
    call(phase, i, start);
    kernel_details(i);
  }
}

/// Op, operands and attributes.
void InstructionParser::call(PlanPhase& phase, Instruction& i, std::size_t start) {
  i.op = &ops_.read(lex_, i.kind == InstructionKind::start
                              ? "a collective"
                              : "an op, copy, start, wait, input, output or '}'");
  std::vector<std::uint32_t> sizes = parse_operands(lex_, *i.op, [&] { operand(phase); });
  std::size_t from = lex_.offset();
  std::vector<Named> given = parse_attributes(lex_);
  std::string_view text = lex_.text().substr(from, lex_.offset() - from);
  try {
    Attributes attributes(*i.op, given);
    if (i.op->writes_lists()) attributes = attributes.with_list_sizes(std::move(sizes));
    i.attributes = shared(*i.op, std::move(attributes), text);
  } catch (const Error& e) {
    lex_.fail_at(start, e.what());
  }
}

Attributes InstructionParser::shared(const Op& op, Attributes attributes, std::string_view text) {
  std::uint64_t hash = std::hash<std::string_view>()(text) ^ std::hash<const Op*>()(&op);
  for (std::uint32_t size : attributes.list_sizes()) hash = mixed(hash ^ size);
  auto [from, to] = attributes_.equal_range(hash);
  auto values = attributes.values();
  for (auto it = from; it != to; ++it) {
    const auto& [known_op, known] = it->second;
    if (known_op == &op && std::ranges::equal(known.list_sizes(), attributes.list_sizes()) &&
        std::ranges::equal(known.values(), values, same))
      return known;
  }
  attributes_.emplace(hash, std::pair(&op, attributes));
  return attributes;
}

void InstructionParser::kernel_details(Instruction& i) {
  if (lex_.accept_word("by")) i.backend = backend();
  if (!lex_.accept_word("workspace")) return;
  i.workspace_bytes = lex_.integer("a number of bytes");
  lex_.expect('@', "between size and offset");
  i.workspace = lex_.integer("an offset in bytes");
}

std::uint8_t InstructionParser::backend() {
  std::size_t at = lex_.position();
  std::string_view name = lex_.word("the name of a backend");
  auto found = std::ranges::find(plan_.backends, name);
  auto index = static_cast<std::size_t>(found - plan_.backends.begin());
  if (index > std::numeric_limits<std::uint8_t>::max()) lex_.fail_at(at, "too many backends");
  if (found == plan_.backends.end()) plan_.backends.emplace_back(name);
  return static_cast<std::uint8_t>(index);
}

/// 0 for what is no collective, which the verifier refuses.
std::uint16_t InstructionParser::lane(const Instruction& i, std::size_t start) {
  if (i.op->collective == nullptr) return 0;
  const auto& group = attribute<std::string>(*i.op, i.attributes, "group");
  std::uint32_t index = groups_.add(group);
  if (index + 1 > std::numeric_limits<std::uint16_t>::max()) lex_.fail_at(start, "too many groups");
  if (index == graph_->groups.size()) graph_->groups.push_back(group);
  return static_cast<std::uint16_t>(index + 1);
}

std::uint32_t InstructionParser::label(const Instruction& i) {
  TraceLabel label = default_label(*body_, i);
  if (lex_.accept_word("as")) {
    label.name.clear();
    std::string_view op = lex_.peek_word();
    if (op.empty() && lex_.peek() != '%' && lex_.peek() != '@')
      lex_.unexpected("an op, the name of a value or the path of a module");
    if (!op.empty()) label.op = lex_.word("an op");
    if (lex_.peek() == '%') label.name = "%" + std::string(parse_value_name(lex_));
    if (lex_.accept('@')) label.path = lex_.string("a module path, in quotes");
  }
  return labels_->add(std::move(label));
}

}  // namespace hocket
