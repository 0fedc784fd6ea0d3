#pragma once
// The table of operators: one span of rows for each file of this folder.

#include <span>
#include <vector>

#include "hocket/frontend/aten/operator_call.h"

namespace hocket::frontend {

/// All rows, by family. The only list of operators that can be translated.
std::vector<std::span<const Row>> rows();

std::span<const Row> pointwise_rows();
std::span<const Row> special_function_rows();
std::span<const Row> compare_rows();
std::span<const Row> reduce_rows();
std::span<const Row> scan_rows();
std::span<const Row> view_rows();
std::span<const Row> slice_rows();
std::span<const Row> strided_rows();
std::span<const Row> copy_rows();
std::span<const Row> masked_scatter_rows();
std::span<const Row> creation_rows();
std::span<const Row> index_rows();
std::span<const Row> foreach_rows();
std::span<const Row> optimizer_rows();
std::span<const Row> collective_rows();

namespace nn {

std::span<const Row> product_rows();
std::span<const Row> contraction_rows();
std::span<const Row> conv_rows();
std::span<const Row> norm_rows();
std::span<const Row> batch_norm_rows();
std::span<const Row> weight_norm_rows();
std::span<const Row> softmax_rows();
std::span<const Row> attention_rows();
std::span<const Row> embedding_bag_rows();
std::span<const Row> pool_rows();
std::span<const Row> resize_rows();
std::span<const Row> interpolation_rows();
std::span<const Row> pad_rows();
std::span<const Row> unfold_rows();
std::span<const Row> class_loss_rows();
std::span<const Row> elementwise_loss_rows();
std::span<const Row> pairwise_distance_rows();
std::span<const Row> activation_rows();
std::span<const Row> piecewise_rows();

}  // namespace nn
}  // namespace hocket::frontend
