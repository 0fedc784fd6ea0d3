#include "hocket/frontend/aten_nn.h"
#include "hocket/frontend/call.h"

namespace hocket::frontend {

std::vector<std::span<const Row>> rows() {
  return {pointwise_rows(), function_rows(),  compare_rows(),    reduce_rows(), view_rows(),
          part_rows(),      strided_rows(),   copy_rows(),       make_rows(),   index_rows(),
          foreach_rows(),   optimizer_rows(), collective_rows(), nn_rows(),     rare_rows()};
}

}  // namespace hocket::frontend
