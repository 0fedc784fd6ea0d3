#pragma once
// Tensors of the source: storages and views, with the effects of writes on all views of a storage.
//
// The source writes in place; a graph has only values. So a storage keeps the current value of its
// whole contents, and a view keeps the op that reads it from its base tensor. A write through a
// view puts the new part back into the storage and makes every other view stale. A stale view is
// read again at its next use, at that place in the graph.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket::frontend {

using TensorId = std::uint32_t;

/// One step of a chain of views: how a view is read from its base tensor.
struct View {
  /// reshape, permute, slice, broadcast or stop_gradient; none: `read` is used.
  const Op* op = nullptr;
  Attributes attributes = {};
  /// For other views: functions that read the view from the whole and put it back. Without `put`
  /// the view cannot be written through.
  std::function<Value(At, Value whole)> read = nullptr;
  std::function<Value(At, Value whole, Value part)> put = nullptr;
};

class Storages {
 public:
  explicit Storages(Graph& graph) : graph_(graph) {}

  /// A new storage that holds this value, which may be in flight.
  TensorId fresh(Value v);
  /// A new storage whose contents are undefined until it is written completely.
  TensorId undefined(const Type& type);
  /// A tensor that shares the storage of `of`.
  TensorId view(At at, TensorId of, View step);

  const Type& type(TensorId t) const { return tensors_[t].type; }
  /// The strides of the source, in elements.
  const Ints& strides(TensorId t) const { return tensors_[t].strides; }
  void set_strides(TensorId t, Ints strides) { tensors_[t].strides = std::move(strides); }
  bool shares_storage(TensorId a, TensorId b) const {
    return tensors_[a].storage == tensors_[b].storage;
  }
  bool in_flight(TensorId t) const {
    const Storage& s = storage(t);
    return s.arriving || (s.value && is_pending(s.value));
  }
  /// The tensor that covers the whole storage of `t`.
  TensorId whole(TensorId t) const { return storage(t).whole; }

  /// The value last seen through `t`, stale or in flight; none for one that was never seen.
  Value last_seen(TensorId t) const { return tensors_[t].value; }
  /// The value seen through `t` now. Error when it is in flight or was never written.
  Value read(At at, TensorId t);
  /// Overwrites all of `t` with v, which has its type and may be in flight. All tensors that share
  /// the storage see it.
  void write(At at, TensorId t, Value v);
  /// Waits for a value in flight in the storage of `t`, if there is one.
  void wait(At at, TensorId t);

 private:
  struct Storage {
    Value value;
    std::int64_t unwritten = 0;  // elements whose contents are not defined yet
    std::uint32_t version = 0;
    TensorId whole = 0;  // the tensor that covers all of it
    /// A part that is written when its value has arrived, and that value.
    std::optional<std::pair<TensorId, Value>> arriving = {};
  };
  struct Tensor {
    std::uint32_t storage = 0;
    std::optional<TensorId> of;  // the tensor of which it is a view
    View step;
    Type type;
    Ints strides;
    Value value;  // as read when the storage had this version
    std::uint32_t version = 0;
  };

  const Storage& storage(TensorId t) const { return storages_[tensors_[t].storage]; }
  bool is_pending(Value v) const { return graph_.type(v).pending; }
  TensorId add(Tensor t);
  Value apply(At at, const View& step, Value v);
  Value zeros(At at, const Type& type);
  Value put_back(At at, const View& step, Value whole, Value part);

  Graph& graph_;
  std::vector<Storage> storages_;
  std::vector<Tensor> tensors_;
};

/// Row-major strides of a shape.
Ints contiguous_strides(const Shape& shape);
bool is_contiguous(const Shape& shape, const Ints& strides);
/// True when a tensor with this shape and strides can be viewed in another shape without a copy.
bool can_view(const Shape& shape, const Ints& strides, const Shape& wanted);

}  // namespace hocket::frontend
