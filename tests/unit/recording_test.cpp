#include "hocket/frontend/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "hocket/base/file.h"
#include "hocket/frontend/formats/capture.h"
#include "hocket/frontend/formats/safetensors.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"
#include "support/message.h"

namespace hocket::frontend {
namespace {

using testing::message_of;
using Tensors = std::map<std::string, Tensor, std::less<>>;

Tensor filled(float value, Shape shape = {2}) {
  Tensor t(Type{.dtype = DType::f32, .shape = shape});
  for (std::int64_t i = 0; i < t.type().elements(); ++i) t.as<float>()[i] = value;
  return t;
}
float first(const Tensor& t) { return t.as<float>()[0]; }

Program two_ranks() {
  return parse(R"(mesh(dp=2)
graph step(%w: state f32[2] "w" parameter, %b: state f32[2] "b" buffer, %x: f32[2] "x") {
  %y: f32[2] = add(%w, %x)
  next %w = %y
  return %y, %b
})",
               ops::all());
}

/// Writes tensors to files in a folder of their own and reads them as a recording.
class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() {
    folder_ = ::testing::TempDir() + "hocket_recording_" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
    files_ = {folder_ + "/state.st", folder_ + "/batches.st", folder_ + "/expected.st"};
  }
  ~RecordingTest() override { std::filesystem::remove_all(folder_); }

  Recording read() {
    write_safetensors(files_.state, state_);
    write_safetensors(files_.batches, batches_);
    write_safetensors(files_.expected, expected_);
    return read_recording(program_, files_);
  }
  /// The message without the folder.
  std::string refusal() {
    std::string message = message_of([&] { read(); });
    return message.starts_with(folder_) ? message.substr(folder_.size() + 1) : message;
  }

  Program program_ = two_ranks();
  Tensors state_{{"w", filled(1)}, {"rank0.b", filled(2)}, {"rank1.b", filled(3)}};
  Tensors batches_{{"iter0.rank0.x", filled(10)},
                   {"iter0.rank1.x", filled(11)},
                   {"iter1.rank0.x", filled(12)},
                   {"iter1.rank1.x", filled(12)}};
  Tensors expected_{{"iter0.rank0.out0", filled(20)},
                    {"iter1.rank1.out1", filled(21)},
                    {"final.rank0.w", filled(22)},
                    {"final.rank0.b", filled(23)}};
  std::string folder_;
  RecordingFiles files_;
};

TEST_F(RecordingTest, PutsTensorsIntoTheirPlaces) {
  Recording r = read();
  ASSERT_TRUE(r.has_values());
  ASSERT_EQ(r.state.size(), 2u);
  ASSERT_EQ(r.state[0].size(), 3u);
  EXPECT_EQ(first(r.state[1][0]), 1);
  EXPECT_EQ(r.state[0][0].bytes().data(), r.state[1][0].bytes().data());
  EXPECT_EQ(first(r.state[0][1]), 2);
  EXPECT_EQ(first(r.state[1][1]), 3);
  EXPECT_FALSE(r.state[0][2]);
  ASSERT_EQ(r.batches.size(), 2u);
  EXPECT_EQ(first(r.batches[0][1][2]), 11);
  EXPECT_FALSE(r.batches[0][0][0]);
  EXPECT_EQ(r.batches[1][0][2].bytes().data(), r.batches[1][1][2].bytes().data());
  ASSERT_EQ(r.expected.size(), 2u);
  EXPECT_EQ(first(r.expected[0][0][0]), 20);
  EXPECT_FALSE(r.expected[0][1][0]);
  EXPECT_EQ(first(r.expected[1][1][1]), 21);
  // The parameter starts equal on both ranks, so it is expected on both; the buffer is not.
  EXPECT_EQ(first(r.final_state[1][0]), 22);
  EXPECT_EQ(first(r.final_state[0][1]), 23);
  EXPECT_FALSE(r.final_state[1][1]);
}

TEST_F(RecordingTest, WhatIsWrittenIsRead) {
  Recording r = read();
  RecordingFiles copy{folder_ + "/s", folder_ + "/b", folder_ + "/e"};
  write_recording(program_, r, copy);
  EXPECT_EQ(read_file(copy.state), read_file(files_.state));
  EXPECT_EQ(read_file(copy.batches), read_file(files_.batches));
  EXPECT_EQ(read_file(copy.expected), read_file(files_.expected));
}

TEST_F(RecordingTest, WithoutFilesThereIsNothing) {
  EXPECT_FALSE(read_recording(program_, {}).has_values());
  read();
  files_.expected = "";
  EXPECT_TRUE(read_recording(program_, files_).expected.empty());
  Recording state_alone = read_recording(program_, {.state = files_.state});
  EXPECT_TRUE(state_alone.has_values() && state_alone.batches.empty());
  Recording inputs_alone = read_recording(program_, {.batches = files_.batches});
  EXPECT_TRUE(inputs_alone.state.empty() && !inputs_alone.batches.empty());
}

TEST_F(RecordingTest, WithoutAStateEveryRankKeepsWhatIsExpectedOfIt) {
  expected_["final.rank1.w"] = filled(24);
  expected_.erase("final.rank0.b");
  read();
  Recording r = read_recording(program_, {.expected = files_.expected});
  EXPECT_TRUE(r.state.empty());
  RecordingFiles copy{.expected = folder_ + "/e"};
  write_recording(program_, r, copy);
  EXPECT_EQ(read_file(copy.expected), read_file(files_.expected));
  // Nobody knows that rank 1 starts as rank 0 does, so that nothing is expected of it.
  expected_.erase("final.rank1.w");
  read();
  r = read_recording(program_, {.expected = files_.expected});
  EXPECT_TRUE(r.final_state[0][0]);
  EXPECT_FALSE(r.final_state[1][0]);
}

TEST_F(RecordingTest, RefusesStateThatDoesNotFit) {
  state_["rank1.w"] = filled(1);
  EXPECT_EQ(refusal(), "state.st: tensor 'w': a second value for rank 1");
  state_.erase("w");
  EXPECT_EQ(refusal(), "state.st: no value for state 'w' of rank 0");
  state_.erase("rank1.w");
  state_["w"] = filled(1, {3});
  EXPECT_EQ(refusal(), "state.st: tensor 'w': f32[3], wanted f32[2]");
  state_["w"] = Tensor(Type{.dtype = DType::f64, .shape = {2}});
  EXPECT_EQ(refusal(), "state.st: tensor 'w': f64[2], wanted f32[2]");
  state_["w"] = filled(1);
  state_["rank2.b"] = filled(1);
  EXPECT_EQ(refusal(), "state.st: tensor 'rank2.b': rank 2, but the program has 2 ranks");
  state_.erase("rank2.b");
  state_["v"] = filled(1);
  EXPECT_EQ(refusal(),
            "state.st: tensor 'v': no rank has a state of that name; wanted one, or 'rank0.NAME'");
  state_.erase("v");
  state_["x"] = filled(1);
  EXPECT_EQ(refusal().substr(0, 42), "state.st: tensor 'x': no rank has a state ");
  state_.erase("x");
  state_["rank0.v"] = filled(1);
  EXPECT_EQ(refusal(), "state.st: tensor 'rank0.v': rank 0 has no state 'v'");
}

TEST_F(RecordingTest, RefusesBatchesThatDoNotFit) {
  auto with = [&](const std::string& name, Tensor t = filled(1)) {
    batches_[name] = std::move(t);
    std::string message = refusal();
    batches_.erase(name);
    return message;
  };
  for (const char* name :
       {"x", "iter0.x", "rank0.x", "iter.rank0.x", "iter-1.rank0.x", "iter01.rank0.x",
        "iter0.rank0", "iter0 .rank0.x", "iter99999999999999999999.rank0.x"})
    EXPECT_EQ(with(name), std::string("batches.st: tensor '") + name +
                              "': wanted a name such as 'iter0.rank0.NAME'");
  EXPECT_EQ(with("iter0.rank7.x"),
            "batches.st: tensor 'iter0.rank7.x': rank 7, but the program has 2 ranks");
  EXPECT_EQ(with("iter0.rank0.w"), "batches.st: tensor 'iter0.rank0.w': rank 0 has no input 'w'");
  EXPECT_EQ(with("iter1000000000.rank0.x"),
            "batches.st: tensor 'iter1000000000.rank0.x': iteration 1000000000 in a file of 5 "
            "tensors");
  EXPECT_EQ(with("iter3.rank0.x"), "batches.st: no value for input 'x' of rank 0 in iteration 2");
  batches_.erase("iter1.rank1.x");
  EXPECT_EQ(refusal(), "batches.st: no value for input 'x' of rank 1 in iteration 1");
}

TEST_F(RecordingTest, RefusesExpectationsThatDoNotFit) {
  auto with = [&](const std::string& name, Tensor t = filled(1)) {
    expected_[name] = std::move(t);
    std::string message = refusal();
    expected_.erase(name);
    return message;
  };
  for (const char* name : {"out0", "iter0.rank0.y", "iter0.rank0.out", "iter0.rank0.out0.x",
                           "final.w", "final.rank0", "iter0.final.rank0.w", "final.iter0.rank0.w"})
    EXPECT_EQ(with(name), std::string("expected.st: tensor '") + name +
                              "': wanted a name such as 'iter0.rank0.out0' or 'final.rank0.NAME'");
  EXPECT_EQ(with("iter0.rank0.out2"),
            "expected.st: tensor 'iter0.rank0.out2': output 2, but rank 0 has 2 outputs");
  EXPECT_EQ(with("iter2.rank0.out0"),
            "expected.st: tensor 'iter2.rank0.out0': iteration 2, but inputs are recorded for 2");
  EXPECT_EQ(with("iter0.rank2.out0"),
            "expected.st: tensor 'iter0.rank2.out0': rank 2, but the program has 2 ranks");
  EXPECT_EQ(with("iter0.rank1.out0", filled(1, {})),
            "expected.st: tensor 'iter0.rank1.out0': f32[], wanted f32[2]");
  EXPECT_EQ(with("final.rank1.x"), "expected.st: tensor 'final.rank1.x': rank 1 has no state 'x'");
}

TEST_F(RecordingTest, AModelSavedWithOneBatch) {
  program_ = parse(
      "graph f(%w: state f32[2] \"w\" parameter, %x: f32[2], %z: f32[2]) {\n"
      "  return %z, %x\n}",
      ops::all());
  write_safetensors(files_.batches, {{"in0", filled(1)}, {"in1", filled(2)}});
  write_safetensors(files_.expected, {{"out1", filled(1)}});
  Tensors state{{"w", filled(3)}, {"other", filled(4)}};
  Recording r = read_recording(program_, state, files_.batches, files_.expected);
  EXPECT_EQ(first(r.state[0][0]), 3);
  ASSERT_EQ(r.batches.size(), 1u);
  EXPECT_EQ(first(r.batches[0][0][2]), 2);
  EXPECT_FALSE(r.expected[0][0][0]);
  EXPECT_EQ(first(r.expected[0][0][1]), 1);
  EXPECT_EQ(message_of([&] { read_recording(program_, {}, files_.batches, ""); }),
            "state: no value for state 'w' of rank 0");
  EXPECT_TRUE(read_recording(program_, state, "", "").batches.empty());
  auto with = [&](const std::string& name) {
    write_safetensors(files_.batches, {{"in0", filled(1)}, {"in1", filled(2)}, {name, filled(1)}});
    std::string message = message_of([&] { read_recording(program_, state, files_.batches, ""); });
    return message.substr(folder_.size() + 1);
  };
  EXPECT_EQ(with("in2"), "batches.st: tensor 'in2': the program has 2 inputs");
  EXPECT_EQ(with("in"), "batches.st: tensor 'in': wanted a name such as 'in0'");
  EXPECT_EQ(with("x"), "batches.st: tensor 'x': wanted a name such as 'in0'");
}

/// A program with the inputs of a capture and its first outputs; what it computes does not matter.
Program stand_in(const Source& source, std::size_t outputs) {
  Graph g("step", std::make_shared<const World>(
                      std::vector<Axis>{{.name = "rank", .size = source.world_size}}));
  Value last;
  for (const SourceNode& node : source.nodes)
    if (node.kind == SourceNode::Kind::placeholder)
      last = g.add_input(*node.meta.type, node.name, node.input);
  for (std::size_t i = 0; i < outputs; ++i)
    g.add_output("", g.add_input(Type{.dtype = DType::f32}, "loss",
                                 {.state = true, .kind = StateKind::forwarded}));
  return Program(std::move(g));
}

TEST(Recording, ReadsTheRecordedSteps) {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator(HOCKET_DATA "/captures")) {
    std::string folder = entry.path();
    if (!fs::exists(folder + "/graph.json")) continue;
    Source source = read_capture(read_file(folder + "/graph.json"), folder);
    const auto* outputs = source.nodes.back().args[0].as<List>();
    Program program = stand_in(source, outputs == nullptr ? 1 : outputs->size());
    Recording r =
        read_recording(program, {folder + "/state.safetensors", folder + "/batches.safetensors",
                                 folder + "/expected.safetensors"});
    auto ranks = static_cast<std::size_t>(source.world_size);
    EXPECT_EQ(r.state.size(), ranks) << folder;
    EXPECT_EQ(r.batches.size(), 4u) << folder;
    EXPECT_EQ(r.expected.size(), 4u) << folder;
    // Whatever starts somewhere is expected somewhere at the end, on all ranks.
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < r.state[rank].size(); ++i)
        EXPECT_EQ(static_cast<bool>(r.state[rank][i]), static_cast<bool>(r.final_state[rank][i]))
            << folder << " rank " << rank << " " << i;
  }
}

}  // namespace
}  // namespace hocket::frontend
