#include "hocket/base/error.h"
#include "hocket/frontend/formats/safetensors.h"
#include "hocket/frontend/recording.h"
#include "hocket/frontend/recording_interface.h"

namespace hocket::frontend {

void write_recording(const Program& program, const Recording& recording,
                     const RecordingFiles& files) {
  using Tensors = std::map<std::string, Tensor, std::less<>>;
  Interface interface(program);
  auto for_all = [&](const Table& table, auto f) {
    for (int r = 0; r < std::ssize(table); ++r)
      for (std::size_t i = 0; i < table[static_cast<std::size_t>(r)].size(); ++i)
        if (const Tensor& t = table[static_cast<std::size_t>(r)][i]) f(r, i, t);
  };
  Tensors state, batches, expected;
  // A value that all ranks with a state of this name share is written once.
  struct Holders {
    std::size_t owners = 0, same = 0;
    const Tensor* first = nullptr;
  };
  std::map<std::string, Holders, std::less<>> holders;
  for (int r = 0; r < interface.ranks(); ++r)
    for (std::size_t i = 0; i < interface.inputs(r).size(); ++i)
      if (interface.inputs(r)[i].state) ++holders[interface.of(r).names[i]].owners;
  for_all(recording.state, [&](int r, std::size_t i, const Tensor& t) {
    Holders& h = holders[interface.of(r).names[i]];
    if (h.first == nullptr) h.first = &t;
    if (same_bytes(*h.first, t)) ++h.same;
  });
  for_all(recording.state, [&](int r, std::size_t i, const Tensor& t) {
    const std::string& name = interface.of(r).names[i];
    bool one = holders[name].same == holders[name].owners;
    state.emplace(one ? name : fmt::format("rank{}.{}", r, name), t);
  });
  for (std::size_t k = 0; k < recording.batches.size(); ++k)
    for_all(recording.batches[k], [&](int r, std::size_t i, const Tensor& t) {
      batches.emplace(fmt::format("iter{}.rank{}.{}", k, r, interface.of(r).names[i]), t);
    });
  for (std::size_t k = 0; k < recording.expected.size(); ++k)
    for_all(recording.expected[k], [&](int r, std::size_t i, const Tensor& t) {
      expected.emplace(fmt::format("iter{}.rank{}.{}", k, r, interface.of(r).output_names[i]), t);
    });
  for_all(recording.final_state, [&](int r, std::size_t i, const Tensor& t) {
    if (!follows_rank_0(interface, recording.state, r, i) ||
        !same_bytes(t, recording.final_state[0][i]))
      expected.emplace(fmt::format("final.rank{}.{}", r, interface.of(r).names[i]), t);
  });
  if (!files.state.empty()) write_safetensors(files.state, state);
  if (!files.batches.empty()) write_safetensors(files.batches, batches);
  if (!files.expected.empty()) write_safetensors(files.expected, expected);
}

}  // namespace hocket::frontend
