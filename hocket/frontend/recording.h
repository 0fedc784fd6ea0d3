#pragma once
// The values that come with a step: initial state, inputs, expected outputs and state.

#include <map>
#include <string>
#include <vector>

#include "hocket/ir/program.h"

namespace hocket::frontend {

/// Tables are by rank and by input or output of the rank's graph; a tensor that was not recorded is
/// empty. Ranks with equal values share their bytes.
struct Recording {
  std::vector<std::vector<Tensor>> state;                  ///< [rank][input], at the start
  std::vector<std::vector<std::vector<Tensor>>> batches;   ///< [iteration][rank][input]
  std::vector<std::vector<std::vector<Tensor>>> expected;  ///< [iteration][rank][output]
  std::vector<std::vector<Tensor>> final_state;            ///< [rank][input], expected at the end

  bool has_values() const { return !state.empty(); }
};

/// Paths of the files of a recording; empty for a missing file.
struct RecordingFiles {
  std::string state, batches, expected;
};

/// Reads the files that exist. Names are those of the inputs in the text: `w` (for all ranks) or
/// `rank0.w` for state, `iter0.rank0.x` for fed inputs, `iter0.rank0.out0` and `final.rank0.w` for
/// expected outputs and state. A parameter or optimizer state that starts equal on several ranks
/// and is expected on rank 0 alone is expected on all of them. Error for a tensor of another type,
/// for a value that is missing or given twice, for unknown names and ranks.
Recording read_recording(const Program& program, const RecordingFiles& files);

/// For a model saved with one batch: the state by the names of inputs (names unknown to the program
/// are ignored), and two files, either of which may be "": `in0`... for fed inputs in order, and
/// `out0`..., with `buffer.NAME` for the state at the end, by source name.
Recording read_recording(const Program& program,
                         const std::map<std::string, Tensor, std::less<>>& state,
                         const std::string& inputs_path, const std::string& expected_path);

/// Writes the files of a recording under the same names; those with an empty path are left out.
void write_recording(const Program& program, const Recording& recording,
                     const RecordingFiles& files);

}  // namespace hocket::frontend
