#include "hocket/runtime/bound_phase.h"

#include <cstring>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/codegen/copy.h"
#include "hocket/plan/live_tensors.h"
#include "hocket/runtime/first_reads.h"

namespace hocket {
namespace {

constexpr std::string_view other_library = "the plan was made for another library";

class Binder {
 public:
  Binder(const RankParts& parts, const PlanPhase& phase) : parts_(parts), phase_(phase) {}

  BoundPhase run() {
    for (const Instruction& i : phase_.instructions) {
      try {
        bind(i);
      } catch (const Error& e) {
        fail("{}", describe(parts_.graph.labels.at(i.label), e.what()));
      }
    }
    if (parts_.keep_trace) {
      auto graph = static_cast<std::size_t>(&parts_.graph - parts_.plan.graphs.data());
      auto phase = static_cast<std::size_t>(&phase_ - parts_.graph.phases.data());
      out_.live_bytes =
          live_bytes(live_tensors(parts_.plan, graph, phase), phase_.instructions.size());
      std::vector<std::int64_t> reads = first_reads(parts_.plan, parts_.graph, phase_);
      for (std::size_t i = 0; i < reads.size(); ++i) out_.instructions[i].reads = reads[i];
    }
    return std::move(out_);
  }

 private:
  void bind(const Instruction& i) {
    operands_.clear();
    results_.clear();
    for (const Location& l : phase_.operands(i))
      operands_.push_back(view_of(parts_.plan, parts_.arena, l));
    for (const Location& l : phase_.results(i))
      results_.push_back(view_of(parts_.plan, parts_.arena, l));
    BoundInstruction& bound = out_.instructions.emplace_back();
    bound = {.kind = i.kind, .label = i.label, .index = i.index};
    switch (i.kind) {
      case InstructionKind::kernel:
        bound.kernel = keep(*prepare(i), i);
        return;
      case InstructionKind::copy:
        bound.kernel = keep(*prepare_copy(), i);
        return;
      case InstructionKind::start:
        bound.index = static_cast<std::uint32_t>(out_.starts.size());
        out_.starts.push_back(start(i));
        return;
      case InstructionKind::wait:
        return;
      case InstructionKind::input:
        bound.index = static_cast<std::uint32_t>(out_.inputs.size());
        out_.inputs.push_back({i.index, results_.at(0)});
        return;
      case InstructionKind::output:
        bound.index = static_cast<std::uint32_t>(out_.outputs.size());
        out_.outputs.push_back({i.index, operands_.at(0)});
        return;
    }
  }

  BoundKernel* keep(const Kernel& kernel, const Instruction& i) {
    std::vector<ConstView> operands;
    for (const View& v : operands_) operands.push_back(read_only(v));
    std::span<std::byte> workspace(parts_.arena.at(i.workspace),
                                   static_cast<std::size_t>(kernel.workspace_bytes));
    if (kernel.workspace_bytes != i.workspace_bytes)
      fail("{} of workspace, wanted {}: {}", count_of(i.workspace_bytes, "byte"),
           kernel.workspace_bytes, other_library);
    return out_.kernels.emplace_back(kernel.bind(operands, results_, workspace)).get();
  }

  std::shared_ptr<const Kernel> prepare(const Instruction& i) {
    std::vector<Type> operand_types, result_types;
    for (const View& v : operands_) operand_types.push_back(v.type);
    for (const View& v : results_) result_types.push_back(v.type);
    KernelSpec spec{
        *i.op, i.attributes, operand_types, result_types, *parts_.plan.program.world, parts_.role};
    std::shared_ptr<const Kernel> kernel;
    if (i.backend == 0) {
      kernel = parts_.kernels.prepare(spec);
    } else {
      const std::string& wanted = parts_.plan.backends.at(i.backend);
      std::string_view found = parts_.backend != nullptr ? parts_.backend->name() : "reference";
      if (found != wanted) fail("backend {}, the plan was made for {}", found, wanted);
      kernel = parts_.backend->prepare(spec);
    }
    if (kernel == nullptr) fail("no kernel for it: {}", other_library);
    require_ports(kernel->operands, operands_, "operand");
    require_ports(kernel->results, results_, "result");
    return out_.prepared.emplace_back(std::move(kernel));
  }

  static void require_ports(std::span<const Port> ports, std::span<const View> views,
                            std::string_view what) {
    if (ports.size() != views.size())
      fail("{}, wanted {}: {}", count_of(std::ssize(views), what), ports.size(), other_library);
    for (std::size_t k = 0; k < ports.size(); ++k)
      if (!ports[k].any && ports[k].layout != views[k].layout)
        fail("{} {} lies as {}, wanted {}: {}", what, k, to_text(views[k].layout),
             to_text(ports[k].layout), other_library);
  }

  std::shared_ptr<const Kernel> prepare_copy() {
    const View &from = operands_.at(0), &to = results_.at(0);
    return out_.prepared.emplace_back(
        parts_.backend != nullptr
            ? parts_.backend->prepare_copy(from.type.dtype, from.layout, to.layout)
            : prepare_plain_copy(from.layout, to.layout));
  }

  BoundStart start(const Instruction& i) {
    comm::ProcessGroup& group = *parts_.groups.at(i.lane - 1U);
    BoundStart s{.group = &group, .transfer = i.index, .lane = i.lane};
    s.calls = make_calls(*i.op, i.attributes, operands_, results_, group.size(),
                         parts_.graph.labels[i.label].name);
    s.bytes = s.calls.bytes();
    return s;
  }

  const RankParts& parts_;
  const PlanPhase& phase_;
  BoundPhase out_;
  std::vector<View> operands_, results_;  // of the instruction at hand
};

}  // namespace

BoundPhase bind_phase(const RankParts& parts, const PlanPhase& phase) {
  return Binder(parts, phase).run();
}

View view_of(const Plan& plan, const Arena& arena, const Location& location) {
  View v{plan.types.at(location.type), plan.layouts.at(location.layout), nullptr};
  auto [low, high] = v.layout.bounds();
  std::int64_t size = bytes(v.type.dtype);
  if (low <= high &&
      (location.offset + low * size < 0 || location.offset + (high + 1) * size > arena.size()))
    internal_fail("a value at byte {} of an arena of {}: {} as {}", location.offset, arena.size(),
                  to_text(v.type), to_text(v.layout));
  v.data = arena.at(location.offset);
  return v;
}

void copy_value(const ConstView& from, const View& to) {
  if (from.type.elements() == 0) return;
  if (from.layout.is_row_major() && to.layout.is_row_major())
    std::memcpy(to.data, from.data, to.bytes().size());
  else
    prepare_plain_copy(from.layout, to.layout)->bind({&from, 1}, {&to, 1}, {})->run();
}

std::string describe(const TraceLabel& label, std::string_view problem) {
  std::string own = fmt::format("{}: ", label.op);
  if (problem.starts_with(own)) problem.remove_prefix(own.size());
  return label.name.empty() ? fmt::format("{}: {}", label.op, problem)
                            : fmt::format("{} = {}: {}", label.name, label.op, problem);
}

}  // namespace hocket
