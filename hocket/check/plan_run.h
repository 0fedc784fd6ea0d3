#pragma once
// Runs of a plan on values that are terms: what every byte of the arenas holds.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hocket/check/exchange.h"
#include "hocket/check/source_run.h"

namespace hocket::check {

/// What the bytes of one arena hold.
class Memory {
 public:
  void write(Range r, DType dtype, Elements value);
  void forget(Range r);
  /// The elements from the first byte to behind the last one, in their order in memory; none where
  /// not all of them are known, or where they are of another dtype.
  std::optional<Elements> read(Values& values, Range r, DType dtype) const;
  void keep_only(std::span<const Range> ranges);  ///< disjoint and ascending
  template <class F>
  void for_each(F f) const {
    for (const auto& [begin, h] : held_) f(Range{begin, h.end}, h.dtype);
  }

 private:
  struct Held {
    std::int64_t end;
    Range whole;  // where the value was written; parts of it may be overwritten
    DType dtype;
    Elements value;
  };
  std::map<std::int64_t, Held> held_;  // by first byte
};

/// For each input of the plan's program, by graph: the input of the source with the same name, or
/// no_input.
using SourceInputs = std::vector<std::vector<std::size_t>>;
inline constexpr std::size_t no_input = SIZE_MAX;
SourceInputs source_inputs(const Plan& plan);

/// Copying it copies the run, which may go on in two ways.
class PlanRun {
 public:
  PlanRun(const Plan& plan, const SourceInputs& inputs, Evaluator& evaluator, Exchange& exchange,
          Makers& makers);

  /// Puts state, by graph and input of the plan's program, in its homes.
  void load(const States& state);

  /// Gets an output: graph, index, value.
  using Sink = std::function<void(std::size_t, std::size_t, const Elements&)>;
  /// One kernel iteration, on the batch with this number. `run` is a number that no other kernel
  /// iteration of any run has. A message when a value cannot be followed.
  std::optional<std::string> step(Window window, std::int64_t batch, std::int64_t run,
                                  const Sink& output);

  /// The value in a home; none when it is not known.
  std::optional<Elements> in_home(std::size_t graph, const Home& home) const;
  /// Where the other run knows what is kept from phase to phase, this one has the same: else a
  /// message.
  std::optional<std::string> find_other_content(const PlanRun& other) const;

 private:
  struct Transfer {
    Exchange::CallId call = 0;
    std::size_t phase = 0, instruction = 0;
    bool in_flight = false;
  };
  struct Arena {
    Memory memory;
    std::vector<Transfer> transfers;  // carried ones between phases
  };
  struct Walk;

  void advance(Walk& w, const Sink& output);
  void kernel(Walk& w, const Instruction& i);
  void start(Walk& w, std::size_t n);
  void wait(Walk& w, const Instruction& i);
  Elements read(Walk& w, const Location& l);
  void write(Walk& w, const Location& l, const Elements& value);

  const Plan* plan_;
  const SourceInputs* inputs_;
  Evaluator* e_;
  Exchange* exchange_;
  Makers* makers_;
  std::vector<Arena> arenas_;             // by graph
  std::vector<std::vector<Range>> kept_;  // by graph: homes and members of carried transfers
};

}  // namespace hocket::check
