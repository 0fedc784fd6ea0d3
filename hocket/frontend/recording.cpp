#include "hocket/frontend/recording.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/formats/safetensors.h"
#include "hocket/frontend/recording_interface.h"

namespace hocket::frontend {
namespace {

/// A tensor of a recording, and the file that it comes from.
struct Entry {
  const std::string& where;
  std::string_view name;
  const Type& type;
  std::function<Tensor()> load;

  [[noreturn]] void refuse(std::string_view what) const {
    fail("{}: tensor {}: {}", where, shown(name), what);
  }
};

/// Puts tensors into the tables of the recording; Error for tensors that do not belong there.
class Placer {
 public:
  explicit Placer(const Program& program) : interface_(program), out_{.state = empty_inputs()} {}

  const Interface& interface() const { return interface_; }

  /// Sets the state of this name on all ranks that have it; false when none has.
  bool put_state_of_all(const Entry& e) {
    Tensor tensor;
    for (const auto& c : interface_.classes()) {
      auto found = c.index.find(e.name);
      if (found == c.index.end() || !c.graph->inputs()[found->second].state) continue;
      require_type(e, *c.graph, c.graph->inputs()[found->second].value);
      if (!tensor) tensor = e.load();
      for (int r : ranks_of(*c.graph)) put(e, out_.state, r, found->second, tensor);
    }
    return static_cast<bool>(tensor);
  }
  void put_state(const Entry& e, std::int64_t rank, std::string_view name) {
    put_input(e, out_.state, rank, name, true);
  }
  void put_batch(const Entry& e, std::int64_t iteration, std::int64_t rank, std::string_view name) {
    while (std::ssize(out_.batches) <= iteration) out_.batches.push_back(empty_inputs());
    put_input(e, out_.batches[static_cast<std::size_t>(iteration)], rank, name, false);
  }
  void put_final(const Entry& e, std::int64_t rank, std::string_view name) {
    if (out_.final_state.empty()) out_.final_state = empty_inputs();
    put_input(e, out_.final_state, rank, name, true);
  }
  void put_output(const Entry& e, std::int64_t iteration, std::int64_t rank, std::size_t number) {
    if (!out_.batches.empty() && iteration >= std::ssize(out_.batches))
      e.refuse(fmt::format("iteration {}, but inputs are recorded for {}", iteration,
                           out_.batches.size()));
    int r = checked_rank(e, rank);
    const auto& outputs = interface_.of(r).outputs;
    const auto& names = interface_.of(r).output_names;
    auto found = std::ranges::find(names, fmt::format("out{}", number));
    if (found == names.end())
      e.refuse(fmt::format("output {}, but rank {} has {}", number, r,
                           count_of(std::ssize(outputs), "output")));
    auto output = static_cast<std::size_t>(found - names.begin());
    require_type(e, *interface_.of(r).graph, outputs[output].value);
    while (std::ssize(out_.expected) <= iteration) out_.expected.push_back(empty_outputs());
    put(e, out_.expected[static_cast<std::size_t>(iteration)], r, output, e.load());
  }

  /// Checks that no required value is missing. `state` and `batches` are the files that were read.
  Recording finish(std::string_view state, std::string_view batches) {
    bool fed = false, missing = false;
    for (int r = 0; r < interface_.ranks(); ++r)
      for (std::size_t i = 0; i < interface_.inputs(r).size(); ++i) {
        const Input& input = interface_.inputs(r)[i];
        fed |= !input.state;
        // A forwarded state gets its value from the prologue.
        bool wanted = input.state && input.kind != StateKind::forwarded;
        if (wanted && !state.empty() && !at(out_.state, r, i))
          fail("{}: no value for state '{}' of rank {}", state, interface_.of(r).names[i], r);
        missing |= wanted && !at(out_.state, r, i);
        for (std::size_t k = 0; k < out_.batches.size(); ++k)
          if (!input.state && !at(out_.batches[k], r, i))
            fail("{}: no value for input '{}' of rank {} in iteration {}", batches,
                 interface_.of(r).names[i], r, k);
        if (!out_.final_state.empty() && follows_rank_0(interface_, out_.state, r, i) &&
            !at(out_.final_state, r, i))
          at(out_.final_state, r, i) = out_.final_state[0][i];
      }
    // A file must have values for the inputs; without a file the run generates them.
    if (fed && out_.batches.empty() && !batches.empty()) fail("{}: no values for inputs", batches);
    if (missing) out_.state.clear();
    return std::move(out_);
  }

 private:
  static Tensor& at(Table& table, int rank, std::size_t i) {
    return table[static_cast<std::size_t>(rank)][i];
  }
  Table empty_inputs() const {
    Table table;
    for (int r = 0; r < interface_.ranks(); ++r) table.emplace_back(interface_.inputs(r).size());
    return table;
  }
  Table empty_outputs() const {
    Table table;
    for (int r = 0; r < interface_.ranks(); ++r)
      table.emplace_back(interface_.of(r).outputs.size());
    return table;
  }

  int checked_rank(const Entry& e, std::int64_t rank) const {
    if (rank >= interface_.ranks())
      e.refuse(fmt::format("rank {}, but the program has {}", rank,
                           count_of(interface_.ranks(), "rank")));
    return static_cast<int>(rank);
  }
  void require_type(const Entry& e, const Graph& graph, Value v) const {
    Type wanted = graph.type(v).ready();
    if (e.type != wanted) e.refuse(fmt::format("{}, wanted {}", to_text(e.type), to_text(wanted)));
  }
  void put_input(const Entry& e, Table& table, std::int64_t rank, std::string_view name,
                 bool state) {
    int r = checked_rank(e, rank);
    const auto& index = interface_.of(r).index;
    auto found = index.find(name);
    if (found == index.end() || interface_.inputs(r)[found->second].state != state)
      e.refuse(fmt::format("rank {} has no {} {}", r, state ? "state" : "input", shown(name)));
    std::size_t i = found->second;
    require_type(e, *interface_.of(r).graph, interface_.inputs(r)[i].value);
    Tensor tensor = e.load();
    // Values that are equal on several ranks are stored once.
    bool same_class = interface_.of(r).graph == interface_.of(0).graph;
    if (r > 0 && same_class && same_bits(table[0][i], tensor)) tensor = table[0][i];
    put(e, table, r, i, std::move(tensor));
  }
  void put(const Entry& e, Table& table, int rank, std::size_t i, Tensor tensor) {
    if (at(table, rank, i)) e.refuse(fmt::format("a second value for rank {}", rank));
    at(table, rank, i) = std::move(tensor);
  }

  Interface interface_;
  Recording out_;
};

/// Removes a prefix such as `iter0.` (a word and a number) from a name and returns the number;
/// nothing if the name has no such prefix.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  std::string_view digits = text.substr(word.size(), text.find('.') - word.size());
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || end == text.end() ||
      fmt::format("{}", number) != digits || number < 0)
    return std::nullopt;
  text.remove_prefix(word.size() + digits.size() + 1);
  return number;
}

/// The number after a word at the end of a name.
std::optional<std::int64_t> last_number(std::string_view text, std::string_view word) {
  std::string dotted = fmt::format("{}.", text);
  std::string_view rest = dotted;
  auto number = take_number(rest, word);
  return rest.empty() ? number : std::nullopt;
}

template <class F>
void for_each(const Safetensors& file, const std::string& path, F f) {
  for (const auto& [name, type] : file.types())
    f(Entry{path, name, type, [&file, &n = name] { return file.load(n); }});
}

/// The name in the text of the state with this name in the source, or `name` itself.
std::string state_name(std::span<const Input> inputs, const Graph& g, std::string_view name) {
  for (const Input& in : inputs)
    if (std::ranges::find(in.names, name) != in.names.end()) return g.name(in.value);
  return std::string(name);
}

Safetensors open(const std::string& path) {
  return path.empty() ? Safetensors() : Safetensors::open(path);
}

/// Every iteration has at least one tensor, so a larger number is an error. Checked before memory
/// is allocated.
std::int64_t checked_iteration(const Entry& e, const Safetensors& file, std::int64_t k) {
  if (k >= std::ssize(file.types()))
    e.refuse(fmt::format("iteration {} in a file of {}", k,
                         count_of(std::ssize(file.types()), "tensor")));
  return k;
}

}  // namespace

Recording read_recording(const Program& program, const RecordingFiles& files) {
  if (files.state.empty() && files.batches.empty() && files.expected.empty()) return {};
  Placer placer(program);
  Safetensors state = open(files.state), batches = open(files.batches);
  Safetensors expected = open(files.expected);
  for_each(state, files.state, [&](const Entry& e) {
    std::string_view name = e.name;
    if (auto rank = take_number(name, "rank"))
      placer.put_state(e, *rank, name);
    else if (!placer.put_state_of_all(e))
      e.refuse("no rank has a state of that name; wanted one, or 'rank0.NAME'");
  });
  for_each(batches, files.batches, [&](const Entry& e) {
    std::string_view name = e.name;
    auto iteration = take_number(name, "iter"), rank = take_number(name, "rank");
    if (!iteration || !rank) e.refuse("wanted a name such as 'iter0.rank0.NAME'");
    placer.put_batch(e, checked_iteration(e, batches, *iteration), *rank, name);
  });
  for_each(expected, files.expected, [&](const Entry& e) {
    std::string_view name = e.name;
    bool last = name.starts_with("final.");
    auto iteration = take_number(name, "iter");
    if (last) name.remove_prefix(6);
    auto rank = take_number(name, "rank");
    auto output = last_number(name, "out");
    if (last && rank)
      placer.put_final(e, *rank, name);
    else if (iteration && rank && output)
      placer.put_output(e, checked_iteration(e, expected, *iteration), *rank,
                        static_cast<std::size_t>(*output));
    else
      e.refuse("wanted a name such as 'iter0.rank0.out0' or 'final.rank0.NAME'");
  });
  return placer.finish(files.state, files.batches);
}

Recording read_recording(const Program& program,
                         const std::map<std::string, Tensor, std::less<>>& state,
                         const std::string& inputs_path, const std::string& expected_path) {
  Placer placer(program);
  std::vector<std::string> fed;
  for (std::size_t i = 0; i < placer.interface().inputs(0).size(); ++i)
    if (!placer.interface().inputs(0)[i].state) fed.push_back(placer.interface().of(0).names[i]);
  const std::string where = "state";
  for (const auto& [name, tensor] : state)
    placer.put_state_of_all({where, name, tensor.type(), [&t = tensor] { return t; }});
  Safetensors inputs = open(inputs_path), expected = open(expected_path);
  for_each(inputs, inputs_path, [&](const Entry& e) {
    auto i = last_number(e.name, "in");
    if (!i) e.refuse("wanted a name such as 'in0'");
    if (*i >= std::ssize(fed))
      e.refuse(fmt::format("the program has {}", count_of(std::ssize(fed), "input")));
    for (int r = 0; r < placer.interface().ranks(); ++r)
      placer.put_batch(e, 0, r, fed[static_cast<std::size_t>(*i)]);
  });
  for_each(expected, expected_path, [&](const Entry& e) {
    std::string_view buffer = e.name;
    bool left = buffer.starts_with("buffer.");
    if (left) buffer.remove_prefix(7);
    auto i = last_number(e.name, "out");
    if (!left && !i) e.refuse("wanted a name such as 'out0' or 'buffer.NAME'");
    for (int r = 0; r < placer.interface().ranks(); ++r)
      if (left)
        placer.put_final(e, r,
                         state_name(placer.interface().inputs(r), program.graph_of(r), buffer));
      else
        placer.put_output(e, 0, r, static_cast<std::size_t>(*i));
  });
  return placer.finish(where, inputs_path);
}

}  // namespace hocket::frontend
