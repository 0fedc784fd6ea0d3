// Fuzzes the translations: single calls of the cases, with arguments and types that nobody would
// write. Each is refused with one line, or becomes a program that keeps the rules. An input is only
// the seed of what is done.

#include <filesystem>

#include "fuzz.h"
#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/hash.h"
#include "hocket/frontend/formats/capture.h"
#include "hocket/frontend/import.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/ops/ops.h"
#include "require.h"

namespace hocket::fuzz {
namespace {

using frontend::Argument;
using frontend::List;
using frontend::Meta;
using frontend::Ref;
using frontend::Source;
using frontend::SourceNode;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()(std::uint64_t below) { return (state_ = mixed(state_ + 1)) % below; }

 private:
  std::uint64_t state_;
};

std::vector<Source> sources() {
  std::vector<Source> all;
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(HOCKET_SOURCE_DIR "/tests/import/cases"))
    if (fs::exists(entry.path() / "graph.json") && !fs::exists(entry.path() / "refusal.txt"))
      paths.push_back(entry.path() / "graph.json");
  std::ranges::sort(paths);
  for (const fs::path& p : paths)
    all.push_back(frontend::read_capture(read_file(p.string()), "fuzz"));
  return all;
}

const Meta* meta_of(const Source& source, const Ref& ref) {
  const Meta* m = &source.nodes[ref.node].meta;
  if (ref.result >= 0)
    m = static_cast<std::size_t>(ref.result) < m->list.size()
            ? &m->list[static_cast<std::size_t>(ref.result)]
            : nullptr;
  return m != nullptr && m->type ? m : nullptr;
}

/// A source of one call: what it reads become inputs.
class Single {
 public:
  Single(const Source& from, const SourceNode& call) : from_(from) {
    out_.where = "fuzz";
    out_.world_size = from.world_size;
    SourceNode copy = call;
    copy.meta = {};
    for (Argument& a : copy.args) replace(a);
    for (auto& [name, a] : copy.kwargs) replace(a);
    out_.nodes.push_back(std::move(copy));
    auto made = static_cast<std::uint32_t>(out_.nodes.size() - 1);
    SourceNode output;
    output.kind = SourceNode::Kind::output;
    output.name = "output";
    output.args = {Argument(List{Argument(Ref{made, -1})})};
    out_.nodes.push_back(std::move(output));
  }
  Source take() { return std::move(out_); }

 private:
  void replace(Argument& a) {
    if (List* list = std::get_if<List>(&a))
      for (Argument& item : *list) replace(item);
    const Ref* ref = a.as<Ref>();
    if (ref == nullptr) return;
    const Meta* meta = meta_of(from_, *ref);
    SourceNode input;
    input.kind = SourceNode::Kind::placeholder;
    input.name = fmt::format("x{}", out_.nodes.size());
    input.meta.type = meta != nullptr ? *meta->type : Type{DType::f32, false, {2}};
    if (meta != nullptr) input.meta.strides = meta->strides;
    input.input.state = out_.nodes.size() % 2 == 0;
    input.input.names = {input.name};
    a = Ref{static_cast<std::uint32_t>(out_.nodes.size()), -1};
    out_.nodes.push_back(std::move(input));
  }

  const Source& from_;
  Source out_;
};

std::int64_t odd_number(Dice& dice) {
  static constexpr std::int64_t numbers[] = {0,
                                             1,
                                             -1,
                                             2,
                                             3,
                                             -2,
                                             4,
                                             7,
                                             64,
                                             -64,
                                             1 << 20,
                                             std::int64_t{1} << 31,
                                             std::int64_t{1} << 40,
                                             std::int64_t{1} << 62,
                                             INT64_MAX,
                                             INT64_MIN,
                                             INT64_MIN + 1};
  return numbers[dice(std::size(numbers))];
}

void spoil(Argument& a, Dice& dice, std::size_t inputs) {
  List* list = std::get_if<List>(&a);
  if (list != nullptr && !list->empty() && dice(4) != 0) {
    std::size_t i = dice(list->size());
    switch (dice(4)) {
      case 0:
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
        return;
      case 1:
        list->push_back(Argument((*list)[i]));
        return;
      default:
        spoil((*list)[i], dice, inputs);
        return;
    }
  }
  switch (dice(9)) {
    case 0:
      a = Argument();
      break;
    case 1:
      a = Argument(dice(2) == 0);
      break;
    case 2:
      a = Argument(static_cast<double>(odd_number(dice)) * 0.5);
      break;
    case 3:
      a = Argument(std::numeric_limits<double>::quiet_NaN());
      break;
    case 4:
      a = Argument(std::string("mean"));
      break;
    case 5:
      a = Argument(static_cast<DType>(dice(10)));
      break;
    case 6:
      if (inputs > 0) a = Argument(Ref{static_cast<std::uint32_t>(dice(inputs)), -1});
      break;
    default:
      a = Argument(odd_number(dice));
      break;
  }
}

void spoil(Source& source, Dice& dice) {
  std::size_t inputs = source.nodes.size() - 2;
  SourceNode& call = source.nodes[inputs];
  if (inputs > 0 && dice(2) == 0) {
    Meta& meta = source.nodes[dice(inputs)].meta;
    if (dice(2) == 0) meta.type->dtype = static_cast<DType>(dice(10));
    Shape& shape = meta.type->shape;
    if (!shape.empty() && dice(3) != 0) {
      std::int64_t n = odd_number(dice);
      shape[dice(shape.size())] = n < 0 || n > (1 << 20) ? std::int64_t(dice(5)) : n;
    } else if (dice(2) == 0) {
      shape.push_back(static_cast<std::int64_t>(dice(4)));
    } else {
      shape.clear();
    }
    meta.strides.clear();
  }
  std::size_t arguments = call.args.size() + call.kwargs.size();
  for (std::uint64_t n = dice(3); n > 0 && arguments > 0; --n) {
    std::size_t i = dice(arguments);
    spoil(i < call.args.size() ? call.args[i] : call.kwargs[i - call.args.size()].second, dice,
          inputs);
  }
  if (dice(8) == 0) call.args.push_back(Argument(odd_number(dice)));
  if (dice(8) == 0 && !call.args.empty()) call.args.pop_back();
}

Outcome check(std::string_view bytes) {
  static const std::vector<Source> all = sources();
  std::uint64_t seed = 14695981039346656037ULL;
  for (char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  Dice dice(seed);
  const Source& from = all[dice(all.size())];
  const SourceNode* call = nullptr;
  for (int i = 0; i < 20 && (call == nullptr || call->kind != SourceNode::Kind::call); ++i)
    call = &from.nodes[dice(from.nodes.size())];
  if (call->kind != SourceNode::Kind::call || call->target == "operator.getitem") return {true, {}};
  Source source = Single(from, *call).take();
  spoil(source, dice);
  try {
    frontend::Imported imported = frontend::translate(source);
    must("the program", [&] { verify(imported.program); });
    std::string text = to_text(imported.program);
    must("the text",
         [&] { require(parse(text, ops::all()) == imported.program, "reads back differently"); });
    return {true, call->target};
  } catch (const Error& e) {
    require_one_line(e.what(), "fuzz: ");
    return {false, e.what()};
  } catch (const std::exception& e) {
    throw std::runtime_error(fmt::format("{}: {}", call->target, e.what()));
  }
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  using namespace hocket::fuzz;
  return fuzz_main(argc, argv,
                   {.corpus = {"a", "seed of a call", "0123456789"},
                    .dictionary = {"x"},
                    .target = check,
                    .usual_size = 16,
                    .largest_size = 64});
}
