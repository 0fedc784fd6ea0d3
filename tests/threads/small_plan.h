#pragma once
// Plans that are written by hand, instruction by instruction.

#include <string>
#include <string_view>
#include <vector>

#include "hocket/plan/plan.h"

namespace hocket::testing {

/// Values lie at offsets that the test chooses; workspaces of reference kernels at 4096. For the
/// first graph of a program; instructions are added to the last phase.
class SmallPlan {
 public:
  explicit SmallPlan(std::string_view program, std::int64_t arena_bytes = 1 << 16);

  SmallPlan& phase(Window window = {});
  /// In the order of their names in the graph.
  SmallPlan& input(std::string_view name, Location to);
  SmallPlan& output(std::size_t index, Location from);
  SmallPlan& state(std::string_view name, Location home);
  SmallPlan& constant(std::string_view name, Location home);
  /// Op, attributes and label are those of the node that makes this value; a composite or a
  /// collective as well as any other.
  SmallPlan& kernel(std::string_view value, std::vector<Location> operands,
                    std::vector<Location> results, int backend = 0);
  SmallPlan& copy(Location from, Location to);
  SmallPlan& start(std::string_view value, std::uint32_t transfer, std::vector<Location> operands,
                   std::vector<Location> results);
  SmallPlan& wait(std::string_view value, std::uint32_t transfer);

  /// f32[elements], row-major.
  Location at(std::int64_t offset, std::int64_t elements = 4);
  Location at(std::int64_t offset, const Type& type, const Layout& layout);

  Plan plan;
  PlanGraph& graph() { return plan.graphs[0]; }
  Instruction& last() { return graph().phases.back().instructions.back(); }

 private:
  const Graph& body() const { return plan.program.graphs[0]; }
  Instruction& add(InstructionKind kind, const std::vector<Location>& operands,
                   const std::vector<Location>& results);
  std::uint32_t label(std::string_view value);
};

}  // namespace hocket::testing
