#include "hocket/codegen/copy.h"

#include "hocket/ir/world.h"
#include "hocket/ops/ops.h"

namespace hocket {
namespace {

/// The view that shows all of its operand, made by a copy.
class PlainCopy final : public Kernel {
 public:
  PlainCopy(const Layout& from, const Layout& to) {
    operands = {{from}};
    results = {{to}};
    may_overwrite.resize(1);
  }

  std::unique_ptr<BoundKernel> bind(std::span<const ConstView> from, std::span<const View> to,
                                    std::span<std::byte>) const override {
    Attributes none(ops::stop_gradient, {});
    World world;
    return prepare_reference(
               {ops::stop_gradient, none, {&from[0].type, 1}, {&to[0].type, 1}, world})
        ->bind(from, to, {});
  }
};

}  // namespace

std::shared_ptr<const Kernel> prepare_plain_copy(const Layout& from, const Layout& to) {
  return std::make_shared<PlainCopy>(from, to);
}

std::shared_ptr<const Kernel> Backend::prepare_copy(DType, const Layout& from, const Layout& to) {
  return prepare_plain_copy(from, to);
}

}  // namespace hocket
