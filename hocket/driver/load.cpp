#include "hocket/driver/load.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/base/text.h"
#include "hocket/driver/constants.h"
#include "hocket/frontend/formats/capture.h"
#include "hocket/frontend/formats/pt2.h"
#include "hocket/frontend/formats/safetensors.h"
#include "hocket/frontend/import.h"
#include "hocket/frontend/replicas.h"
#include "hocket/ir/parse.h"
#include "hocket/ir/print.h"
#include "hocket/ir/verify.h"
#include "hocket/iter/seams.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::string existing(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? path.string() : "";
}

/// Seconds since it was made.
class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

ConstantTable load_all(const std::string& path) {
  Safetensors file = Safetensors::open(path);
  ConstantTable all;
  for (const auto& [name, type] : file.types()) all.emplace(name, file.load(name));
  return all;
}

void take(Step& step, frontend::Imported imported) {
  step.program = std::move(imported.program);
  step.remarks = std::move(imported.remarks);
  step.nodes = static_cast<std::int64_t>(imported.nodes);
  step.collectives = static_cast<std::int64_t>(imported.collectives);
  try {
    verify(step.program);
  } catch (const Error& e) {
    internal_fail("{}: the importer built a broken graph: {}", step.source, e.what());
  }
}

std::string strip_text_ending(const std::string& path) {
  return path.ends_with(".hkt") ? path.substr(0, path.size() - 4) : path;
}

void load_constants(Program& program, const std::string& file) {
  if (file.empty()) return;
  ConstantTable table = load_all(file);
  try {
    take_constants(program, table);
  } catch (const Error& e) {
    fail("{}: {}", file, e.what());
  }
}

void load_text(Step& step, bool values) {
  const std::string& path = step.source;
  std::string text = read_file(path);
  Clock clock;
  try {
    step.program = parse(text, ops::all(), find_loop_violation);
  } catch (const Error& e) {
    fail("{}: {}", path == "-" ? "standard input" : path, e.what());
  }
  step.import_seconds = clock.seconds();
  for (const Graph& g : step.program.graphs)
    for (NodeId n : g.nodes()) {
      ++step.nodes;
      step.collectives += g[n].op->is_collective ? 1 : 0;
    }
  if (path == "-") return;
  load_constants(step.program, existing(constants_beside(path)));
  if (values) step.recording = frontend::read_recording(step.program, files_beside(path));
}

void load_capture(Step& step, const fs::path& graph, bool values) {
  std::string text = read_file(graph.string());
  fs::path folder = graph.parent_path();
  Clock clock;
  frontend::Source source = frontend::read_capture(text, graph.string());
  if (std::string file = existing(folder / "constants.safetensors"); !file.empty())
    for (auto& [name, tensor] : load_all(file)) source.constants.emplace(name, tensor);
  take(step, frontend::translate(source));
  step.import_seconds = clock.seconds();
  if (!values) return;
  step.recording =
      frontend::read_recording(step.program, {existing(folder / "state.safetensors"),
                                              existing(folder / "batches.safetensors"),
                                              existing(folder / "expected.safetensors")});
  for (Remark& r : frontend::differing_replicas(step.program, step.recording))
    step.remarks.push_back(std::move(r));
}

void load_archive(Step& step, const fs::path& file, bool values) {
  Clock clock;
  frontend::Pt2 archive = frontend::read_pt2(file.string());
  take(step, frontend::translate(archive.source));
  step.import_seconds = clock.seconds();
  fs::path folder = file.parent_path();
  if (values)
    step.recording = frontend::read_recording(step.program, archive.tensors,
                                              existing(folder / "inputs.safetensors"),
                                              existing(folder / "expected.safetensors"));
}

Step load_any(const std::string& source, bool values) {
  Step step;
  step.source = source;
  fs::path path(source);
  std::error_code ignored;
  if (source != "-" && fs::is_directory(path, ignored)) {
    bool capture = fs::exists(path / "graph.json"), archive = fs::exists(path / "model.pt2");
    if (capture && archive) fail("{}: has both graph.json and model.pt2; name one", source);
    if (!capture && !archive) fail("{}: a folder without graph.json or model.pt2", source);
    path /= capture ? "graph.json" : "model.pt2";
  }
  if (path.extension() == ".json")
    load_capture(step, path, values);
  else if (path.extension() == ".pt2")
    load_archive(step, path, values);
  else
    load_text(step, values);
  return step;
}

Step load_to_run(const std::string& source) {
  Step step = load_any(source, true);
  try {
    require_constants(step.program,
                      source == "-" ? "a file beside the text" : constants_beside(source));
  } catch (const Error& e) {
    fail("{}: {}", source == "-" ? "standard input" : source, e.what());
  }
  return step;
}

/// Takes the tables of one rank from the recording of its own file.
void take_rank(frontend::Recording& all, frontend::Recording& one, std::size_t rank) {
  auto take = [&](auto& to, auto& from) {
    to.resize(rank);
    to.push_back(from.empty() ? typename std::decay_t<decltype(to)>::value_type{}
                              : std::move(from[rank]));
  };
  if (!one.state.empty()) take(all.state, one.state);
  if (!one.final_state.empty()) take(all.final_state, one.final_state);
  auto take_iterations = [&](auto& to, auto& from) {
    if (rank > 0 && to.size() != from.size())
      fail("rank {}: {} recorded, rank 0 has {}", rank, count_of(std::ssize(from), "iteration"),
           to.size());
    to.resize(from.size());
    for (std::size_t k = 0; k < from.size(); ++k) take(to[k], from[k]);
  };
  take_iterations(all.batches, one.batches);
  take_iterations(all.expected, one.expected);
}

/// Error when only some ranks have values for their state: the file of another was probably
/// forgotten.
void require_all_states(const Program& program, const frontend::Recording& recording,
                        const std::vector<std::string>& sources) {
  const auto& state = recording.state;
  for (std::size_t r = 0; !state.empty() && r < sources.size(); ++r) {
    auto is_given = [](const Input& in) { return in.state && in.kind != StateKind::forwarded; };
    bool wanted = std::ranges::any_of(program.graphs[r].inputs(), is_given);
    if (wanted && (r >= state.size() || state[r].empty()))
      fail("{}: has no values for its state, other ranks have; wanted {}.state.safetensors",
           sources[r], strip_text_ending(sources[r]));
  }
}

/// Joins one text per rank: takes the graph of each rank from its own text into one program.
Step join_ranks(const std::vector<std::string>& sources) {
  Step all;
  auto ranks = std::ssize(sources);
  for (std::size_t r = 0; r < sources.size(); ++r) {
    const std::string& source = sources[r];
    if (!source.ends_with(".hkt"))
      fail("{}: one of several sources, wanted a .hkt for each rank", source);
    Step one = load_to_run(source);
    if (one.program.world->ranks() != ranks)
      fail("{}: is for {}, {} files were given", source,
           count_of(one.program.world->ranks(), "rank"), ranks);
    if (r == 0) {
      all.source = source;
      all.program.world = one.program.world;
    } else if (*one.program.world != *all.program.world) {
      fail("{}: has another mesh or other groups than {}", source, sources[0]);
    }
    auto rank = static_cast<int>(r);
    Graph& g = all.program.graphs.emplace_back(one.program.graph_of(rank));
    g.set_world(all.program.world);
    g.set_ranks({rank});
    g.set_name(fmt::format("rank{}", r));
    for (auto& [name, tensor] : one.program.constants) {
      const auto& [known, added] = all.program.constants.emplace(name, tensor);
      if (!added && !same_bits(known->second, tensor))
        fail("{}: the constant {} differs from that of another rank", source, shown(name));
    }
    take_rank(all.recording, one.recording, r);
    all.nodes += one.nodes;
    all.collectives += one.collectives;
    all.import_seconds += one.import_seconds;
  }
  if (auto v = find_class_violation(all.program)) fail("{}: {}", sources[v->graph], v->message);
  require_all_states(all.program, all.recording, sources);
  return all;
}

/// The text is published last, so that its values exist when it appears.
void write_program(const Program& program, const std::string& text_path, NewFiles& files) {
  if (ConstantTable constants = used_constants(program); !constants.empty())
    files.write(constants_beside(text_path), safetensors_bytes(constants));
  files.write(text_path, to_text(program));
}

}  // namespace

Step load_step(const std::string& source) { return load_any(source, true); }

Step load_step(const std::vector<std::string>& sources) {
  if (sources.size() == 1) return load_to_run(sources[0]);
  return join_ranks(sources);
}

void load_state(Step& step, const std::string& path) {
  step.recording.state = frontend::read_recording(step.program, {.state = path}).state;
  step.recording.expected.clear();  // belongs to the other state
  step.recording.final_state.clear();
}

Program load(const std::string& source) { return load_any(source, false).program; }

frontend::RecordingFiles files_beside(const std::string& text_path) {
  std::string stem = strip_text_ending(text_path);
  return {existing(stem + ".state.safetensors"), existing(stem + ".batches.safetensors"),
          existing(stem + ".expected.safetensors")};
}

std::string constants_beside(const std::string& text_path) {
  return strip_text_ending(text_path) + ".constants.safetensors";
}

void save_step(const Step& step, const std::string& text_path) {
  std::string stem = strip_text_ending(text_path);
  const frontend::Recording& r = step.recording;
  NewFiles files;
  frontend::RecordingFiles recording;
  if (!r.state.empty()) recording.state = files.add(stem + ".state.safetensors");
  if (!r.batches.empty()) recording.batches = files.add(stem + ".batches.safetensors");
  if (!r.expected.empty() || !r.final_state.empty())
    recording.expected = files.add(stem + ".expected.safetensors");
  try {
    frontend::write_recording(step.program, r, recording);
  } catch (const Error& e) {
    fail("{}: {}", text_path, e.what());  // e names a temporary file
  }
  write_program(step.program, text_path, files);
  files.publish();
}

void save_program(const Program& program, const std::string& text_path) {
  NewFiles files;
  write_program(program, text_path, files);
  files.publish();
}

}  // namespace hocket
