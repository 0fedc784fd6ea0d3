#pragma once
// Loads the sources named on the command line: a Program and the values that come with it.

#include <string>
#include <vector>

#include "hocket/frontend/recording.h"
#include "hocket/ir/program.h"

namespace hocket {

/// The contents of a source.
struct Step {
  std::string source;
  Program program;
  frontend::Recording recording;  ///< empty tables when the source has no values
  std::vector<Remark> remarks;    ///< of the import
  std::int64_t nodes = 0;         ///< in the source
  std::int64_t collectives = 0;
  double import_seconds = 0;  ///< of the program without its values
};

/// Reads a `.hkt` text (`-`: from standard input), a capture (`graph.json` or its folder) or an
/// archive (`model.pt2` or its folder). Errors start with the path.
Step load_step(const std::string& source);
/// A step to run, which must have all its constants. Several sources are one text for each rank,
/// with the same mesh and groups. Matching collectives must agree; a different order of them is
/// found only in the run.
Step load_step(const std::vector<std::string>& sources);
/// The program without its values.
Program load(const std::string& source);

/// Takes the state from a file, instead of what came with the source; names are those of the
/// inputs.
void load_state(Step& step, const std::string& path);

/// The files beside a text: `OUT.hkt` has `OUT.state.safetensors` and so on.
frontend::RecordingFiles files_beside(const std::string& text_path);
std::string constants_beside(const std::string& text_path);

/// Writes the text and its table of constants beside it, if it has one: all files or none.
void save_program(const Program& program, const std::string& text_path);
/// The same with the values of the recording.
void save_step(const Step& step, const std::string& text_path);

}  // namespace hocket
