#pragma once
// The elements of an operand in groups, each of which a reduction makes one element of.

#include <algorithm>
#include <array>

#include "hocket/ops/kernel.h"
#include "hocket/ops/walk.h"

namespace hocket::ops {

/// Walks have places in the operand, in any layout, and in the result, which is row-major.
struct Groups {
  Walk<2> kept;  ///< over the groups
  Walk<2> gone;  ///< over the elements of a group, in row-major order
};

/// Groups along dimensions that `is_gone(i)` names. The result has the other dimensions or, when
/// `running`, the shape of x. x has elements.
template <class F>
Groups groups_along(const ConstView& x, bool running, F is_gone) {
  Groups g;
  DimAxes axes = *DimAxes::of(x.layout, {x.type.shape.data(), x.type.shape.size()});
  std::int64_t stride = 1;  // in the result
  for (std::size_t d = x.type.shape.size(); d-- > 0;) {
    bool gone = is_gone(d);
    for (std::size_t i = axes[d].size(); i-- > 0;) {
      Layout::Axis a = axes[d][i];
      bool in_result = !gone || running;
      (gone ? g.gone : g.kept).add_outer(a.size, {a.stride, in_result ? stride : 0});
      if (in_result) stride *= a.size;
    }
  }
  return g;
}

/// Goes over the places of a group in the operand, again and again.
class GroupCursor {
 public:
  explicit GroupCursor(const Walk<2>& group) : count_(group.axes().size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      sizes_[i] = group.axes()[i].size;
      strides_[i] = group.axes()[i].strides[0];
      index_[i] = 0;
    }
    if (count_ == 0) sizes_[0] = 1, strides_[0] = 0, index_[0] = 0, count_ = 1;
  }

  std::int64_t at() const { return at_; }
  /// The elements from here to the end of the innermost loop are `stride` apart.
  std::int64_t left() const { return sizes_[0] - index_[0]; }
  std::int64_t stride() const { return strides_[0]; }
  /// By at most `left` elements.
  void advance(std::int64_t elements) {
    at_ += elements * strides_[0];
    index_[0] += elements;
    for (std::size_t i = 0; index_[i] == sizes_[i];) {
      at_ -= strides_[i] * sizes_[i];
      index_[i] = 0;
      if (++i == count_) return;
      at_ += strides_[i];
      ++index_[i];
    }
  }
  /// The next `count` places.
  void next(std::int64_t* places, std::int64_t count) {
    for (std::int64_t i = 0; i < count;) {
      std::int64_t run = std::min(count - i, left());
      for (std::int64_t k = 0; k < run; ++k) places[i + k] = at_ + k * strides_[0];
      i += run;
      advance(run);
    }
  }

 private:
  std::size_t count_;
  std::int64_t at_ = 0;
  std::array<std::int64_t, max_dims> sizes_, strides_, index_;
};

}  // namespace hocket::ops
