#pragma once
// Builds one random graph. Adds one node, or a few related nodes, at a time, and keeps the values
// that later nodes may read.

#include <functional>
#include <string>
#include <vector>

#include "hocket/ir/graph.h"
#include "support/random_program.h"

namespace hocket::testing {

/// Usually a finite number, sometimes an infinity or NaN.
double special_value(Random& random);
Tensor random_tensor(Random& random, const Type& type, std::size_t integers_below);

/// The groups that the nodes of a graph may name, the largest first.
struct Groups {
  std::vector<std::string> names = {"world"};
  /// True when only ranks of this graph are in these groups, so that its collectives involve no
  /// other graph.
  bool own = true;
};

class GraphMaker {
 public:
  GraphMaker(Random& random, Graph& graph, bool region, Groups groups = {},
             std::int64_t largest = 4)
      : random_(random),
        graph_(graph),
        region_(region),
        groups_(std::move(groups)),
        largest_(largest) {}

  void inputs();
  /// Adds state, with types of existing values.
  void loop_inputs();
  void node();
  /// A value to send to another graph; sometimes the result of a collective.
  Value offer();
  /// Sends v; waits for it at once or later.
  void send(Value v, std::int64_t to, std::int64_t channel);
  /// Starts a receive and returns its pending result, for which `take` waits.
  Value receive(std::int64_t from, const Type& type, std::int64_t channel);
  void take(Value pending);
  /// Starts a collective that is shared with ranks of other graphs.
  void meet(const Op& op, const std::vector<Named>& given, const std::vector<Type>& types);
  void meet_at_barrier(const std::string& group, std::int64_t channel);
  /// Waits for a pending value, if there is one.
  void wait();
  void outputs();
  /// Sets next values that depend on their state and on results of collectives.
  void loop_updates();

 private:
  /// A collective, and which of its results were waited for.
  struct Flight {
    NodeId start;
    std::vector<bool> waited;
  };

  // ---- existing values

  Type random_type();
  DType some_float();
  std::int64_t dim_of(std::int64_t most);
  Value any() { return values_[below(random_, values_.size())]; }
  std::vector<Value> shuffled();
  Value some_input(const Type& type);
  /// A random value whose type satisfies the predicate, none if there is none.
  Value some(const std::function<bool(const Type&)>& like);

  // ---- values made for a given type

  Value iota(DType dtype, const Shape& shape);
  /// A small tensor computed from an existing value.
  Value seed();
  /// A value of this type: an existing or a new one.
  Value of(const Type& type);
  Value floats(DType dtype, const Shape& shape) { return of({dtype, false, shape}); }
  /// Indices below `bound`, which is not zero.
  Value indices(const Shape& shape, std::int64_t bound);
  Value random_key();

  // ---- nodes

  NodeId make(const Op& op, const std::vector<Value>& inputs, const std::vector<Named>& given,
              std::vector<std::uint32_t> sizes = {}, std::vector<Type> types = {});
  void keep(Value v) { values_.push_back(v); }
  void keep_all(NodeId n);
  /// Repeats an existing node, so that common-nodes can merge the two.
  void twin();
  void call();
  void constant();
  void full();

  // ---- numbers (graph_maker_math.cpp)

  /// A random elementwise op, with operands of dtypes that its record accepts.
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
  /// Several all-reduces of one kind, started in another order than that in which their operands
  /// are computed, some with a division before or after them; sometimes one reduces the result of
  /// another.
  void gradients();
  /// A chain of collectives, each of which reads the result of the one before.
  void chain();
  void wait_for_all();
  void after();
  void barrier();

  Random& random_;
  Graph& graph_;
  bool region_;
  Groups groups_;
  std::int64_t largest_;  // dimension of a random type
  std::vector<Value> values_;
  std::vector<Flight> flights_;
  int sums_ = 0;  // outputs computed by `gradients`
};

}  // namespace hocket::testing
