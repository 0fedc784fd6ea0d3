#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {

std::vector<std::span<const Row>> rows() {
  return {pointwise_rows(),
          special_function_rows(),
          compare_rows(),
          reduce_rows(),
          scan_rows(),
          view_rows(),
          slice_rows(),
          strided_rows(),
          copy_rows(),
          masked_scatter_rows(),
          creation_rows(),
          index_rows(),
          foreach_rows(),
          optimizer_rows(),
          collective_rows(),
          nn::product_rows(),
          nn::contraction_rows(),
          nn::conv_rows(),
          nn::norm_rows(),
          nn::batch_norm_rows(),
          nn::weight_norm_rows(),
          nn::softmax_rows(),
          nn::attention_rows(),
          nn::embedding_bag_rows(),
          nn::pool_rows(),
          nn::resize_rows(),
          nn::interpolation_rows(),
          nn::pad_rows(),
          nn::unfold_rows(),
          nn::class_loss_rows(),
          nn::elementwise_loss_rows(),
          nn::pairwise_distance_rows(),
          nn::activation_rows(),
          nn::piecewise_rows()};
}

}  // namespace hocket::frontend
