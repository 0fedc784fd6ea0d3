#include "hocket/frontend/aten/call.h"
#include "hocket/frontend/aten/nn.h"

namespace hocket::frontend {

std::vector<std::span<const Row>> rows() {
  return {pointwise_rows(), special_function_rows(), compare_rows(),    reduce_rows(), view_rows(),
          slice_rows(),     strided_rows(),          copy_rows(),       make_rows(),   index_rows(),
          foreach_rows(),   optimizer_rows(),        collective_rows(), nn_rows(),     rare_rows()};
}

}  // namespace hocket::frontend
