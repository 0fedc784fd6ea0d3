#pragma once
// The maker of one random graph: it adds one node after the other, or a few that belong together,
// and keeps the values that later ones may read.

#include <functional>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"
#include "support/random_program.h"

namespace hocket::testing {

/// Mostly plain numbers, at times an infinity or NaN.
double special_value(Random& random);
Tensor random_tensor(Random& random, const Type& type, std::size_t integers_below);

/// The groups that a graph's nodes may name, the widest first.
struct Groups {
  std::vector<std::string> names = {"world"};
  /// Whether its ranks are alone in them, so that it may speak there without other graphs.
  bool own = true;
};

class GraphMaker {
 public:
  GraphMaker(Random& random, Graph& graph, bool region, Groups groups = {})
      : random_(random), graph_(graph), region_(region), groups_(std::move(groups)) {}

  void inputs();
  /// Some more state, of the types that there are.
  void loop_inputs();
  void node();
  /// Something to be sent to another graph; some of it comes out of a collective, and some of
  /// what is taken goes into one.
  Value offer();
  /// May be waited for at once, or later.
  void send(Value v, std::int64_t to, std::int64_t channel);
  /// Only starts: `take` waits for what this returns.
  Value receive(std::int64_t from, const Type& type, std::int64_t channel);
  void take(Value pending);
  /// Starts a collective in which ranks with other graphs take part.
  void meet(const Op& op, const std::vector<Named>& given, const std::vector<Type>& types);
  void meet_at_barrier(const std::string& group, std::int64_t channel);
  /// Waits for something that is in flight, if there is anything.
  void wait();
  void outputs();
  /// Updates that depend on their state and on what the ranks have in common.
  void loop_updates();

 private:
  /// A collective and which of its results were waited for.
  struct Flight {
    NodeId start;
    std::vector<bool> waited;
  };

  // ---- values that there are

  Type random_type();
  DType some_float();
  std::int64_t dim_of(std::int64_t most);
  Value any() { return values_[below(random_, values_.size())]; }
  std::vector<Value> shuffled();
  Value some_input(const Type& type);
  /// Any value that the predicate likes, none when there is none.
  Value some(const std::function<bool(const Type&)>& like);

  // ---- values made to measure

  Value iota(DType dtype, const Shape& shape);
  /// Something small that depends on what was computed before.
  Value seed();
  /// A value of this type: one that is there, or one made for it.
  Value of(const Type& type);
  Value floats(DType dtype, const Shape& shape) { return of({dtype, false, shape}); }
  /// Indices below a bound, which is not zero.
  Value indices(const Shape& shape, std::int64_t bound);
  Value random_key();

  // ---- nodes

  NodeId make(const Op& op, const std::vector<Value>& inputs, const std::vector<Named>& given,
              std::vector<std::uint32_t> sizes = {}, std::vector<Type> types = {});
  void keep(Value v) { values_.push_back(v); }
  void keep_all(NodeId n);
  /// A node once more, so that there is something to merge.
  void twin();
  void call();
  void constant();
  void full();

  // ---- numbers (graph_maker_math.cpp)

  /// Any op that has a body, by what its record takes.
  void elementwise();
  void cast();
  void reshape();
  void permute();
  void broadcast();
  void movement();
  void reduction();
  void matmul();
  void indexing();

  // ---- models (graph_maker_models.cpp)

  void convolution();
  void pooling();
  void normalisation();
  void loss();
  void draw();
  void optimizer();

  // ---- ranks (graph_maker_ranks.cpp)

  void rank_and_shard();
  Value summed(Value v);
  const std::string& some_group() { return groups_.names[below(random_, groups_.names.size())]; }
  void collective();
  /// Several all-reduces of one kind, called in another order than their operands are computed,
  /// with a division in front of some or behind; now and then of a value that another one brought.
  void gradients();
  /// Collectives of which each needs what the one before brought.
  void chain();
  void wait_for_all();
  void after();
  void barrier();

  Random& random_;
  Graph& graph_;
  bool region_;
  Groups groups_;
  std::vector<Value> values_;
  std::vector<Flight> flights_;
  int sums_ = 0;  // outputs that came out of `gradients`
};

}  // namespace hocket::testing
