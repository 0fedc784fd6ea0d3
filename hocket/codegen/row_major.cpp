#include "hocket/codegen/row_major.h"

namespace hocket {
namespace {

class BoundRowMajor final : public BoundKernel {
 public:
  BoundRowMajor(Backend& backend, const Kernel& kernel, std::span<const ConstView> operands,
                std::span<const View> results)
      : backend_(backend) {
    std::vector<ConstView> from(operands.begin(), operands.end());
    for (std::size_t i = 0; i < from.size(); ++i)
      if (needs_copy(kernel.operands[i], from[i].layout)) {
        View own = reserve(from[i].type, kernel.operands[i].layout);
        copy({&from[i], 1}, {&own, 1});
        from[i] = {own.type, own.layout, own.data};
      }
    std::vector<View> to(results.begin(), results.end());
    std::vector<std::pair<View, View>> after;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (needs_copy(kernel.results[i], to[i].layout)) {
        View own = reserve(to[i].type, kernel.results[i].layout);
        after.emplace_back(own, to[i]);
        to[i] = own;
      }
    calls_.push_back(kernel.bind(from, to, bytes(kernel.workspace_bytes)));
    for (const auto& [own, result] : after) {
      ConstView source{own.type, own.layout, own.data};
      copy({&source, 1}, {&result, 1});
    }
  }

  void run() override {
    for (const auto& call : calls_) call->run();
  }

 private:
  static bool needs_copy(const Port& port, const Layout& layout) {
    return !port.any && port.layout != layout;
  }

  std::span<std::byte> bytes(std::int64_t size) {
    if (size == 0) return {};
    return buffers_.emplace_back(Type{DType::u8, false, {size}}).bytes();
  }

  View reserve(const Type& type, const Layout& layout) {
    return {type, layout, bytes(type.bytes()).data()};
  }

  void copy(std::span<const ConstView> from, std::span<const View> to) {
    const Kernel& kernel = *copies_.emplace_back(
        backend_.prepare_copy(from[0].type.dtype, from[0].layout, to[0].layout));
    calls_.push_back(kernel.bind(from, to, bytes(kernel.workspace_bytes)));
  }

  Backend& backend_;
  std::vector<Tensor> buffers_;
  std::vector<std::shared_ptr<const Kernel>> copies_;
  std::vector<std::unique_ptr<BoundKernel>> calls_;
};

}  // namespace

std::unique_ptr<BoundKernel> bind_row_major(Backend& backend, const Kernel& kernel,
                                            std::span<const ConstView> operands,
                                            std::span<const View> results) {
  return std::make_unique<BoundRowMajor>(backend, kernel, operands, results);
}

std::vector<Tensor> run_by(Backend& backend, const Graph& graph, NodeId n,
                           std::span<const Tensor> inputs, int rank) {
  std::vector<Type> operands, types;
  for (const Tensor& t : inputs) operands.push_back(t.type());
  for (Value v : graph.results(n)) types.push_back(graph.type(v));
  const Node& node = graph[n];
  auto kernel = backend.prepare({*node.op, node.attributes, operands, types, graph.world(), rank});
  if (kernel == nullptr) return {};
  std::vector<Tensor> results;
  for (const Type& t : types) results.emplace_back(t);
  std::vector<ConstView> from;
  std::vector<View> to;
  for (const Tensor& t : inputs) from.push_back(view_of(t));
  for (Tensor& t : results) to.push_back(view_of(t));
  bind_row_major(backend, *kernel, from, to)->run();
  return results;
}

}  // namespace hocket
