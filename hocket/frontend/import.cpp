#include "hocket/frontend/import.h"

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/aten/operator_lookup.h"
#include "hocket/frontend/guess_module_paths.h"
#include "hocket/ops/constant.h"
#include "hocket/ops/ops.h"

namespace hocket::frontend {
namespace {

class Importer {
 public:
  explicit Importer(const Source& source)
      : source_(source), found_(find_rows(source)), graph_("step", make_world(source)) {}

  Imported run() {
    Imported imported;
    Translation translation(source_, graph_, imported.program.constants);
    translation_ = &translation;
    translation.values.resize(source_.nodes.size());
    // Inputs come first in the graph, wherever they are in the source.
    for (std::size_t i = 0; i < source_.nodes.size(); ++i)
      if (source_.nodes[i].kind == SourceNode::Kind::placeholder) at_node(i, [&] { input(i); });
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      switch (source_.nodes[i].kind) {
        case SourceNode::Kind::placeholder:
          break;
        case SourceNode::Kind::constant:
          at_node(i, [&] { constant(i); });
          break;
        case SourceNode::Kind::call:
          at_node(i, [&] { call(i); });
          break;
        case SourceNode::Kind::output:
          at_node(i, [&] { output(i); });
          break;
      }
    }
    mutations();
    carry_state();
    drop_unread_transfers();
    if (!source_.has_paths()) guess_paths(graph_);
    imported.remarks = std::move(translation.remarks);
    imported.nodes = source_.nodes.size();
    for (const SourceNode& n : source_.nodes) imported.collectives += is_collective(n.target);
    imported.program.world = graph_.shared_world();
    imported.program.graphs.push_back(std::move(graph_));
    return imported;
  }

 private:
  static std::shared_ptr<const World> make_world(const Source& source) {
    std::vector<ListedGroup> groups;
    for (const auto& [name, sets] : source.groups) groups.push_back({name, sets});
    std::vector<Axis> mesh;
    if (source.world_size > 1) mesh.push_back({"rank", source.world_size});
    return std::make_shared<const World>(std::move(mesh), std::move(groups));
  }

  static bool is_collective(std::string_view target) {
    return target.find("c10d_functional.") != target.npos &&
           target.find("wait_tensor") == target.npos;
  }

  At at() { return graph_; }

  template <class F>
  void at_node(std::size_t i, F&& work) {
    const SourceNode& node = source_.nodes[i];
    try {
      work();
    } catch (const Error& e) {
      if (node.kind == SourceNode::Kind::call)
        fail("{}: {} ({}): {}", source_.where, where_of(node), node.target, e.what());
      fail("{}: '{}': {}", source_.where, node.name, e.what());
    } catch (const std::out_of_range&) {
      fail("{}: {} ({}): a list among its arguments is too short", source_.where, where_of(node),
           node.target);
    } catch (const std::bad_alloc&) {
      fail("{}: {} ({}): needs more memory than there is", source_.where, where_of(node),
           node.target);
    }
  }

  void input(std::size_t i) {
    const SourceNode& node = source_.nodes[i];
    SourceValue& value = translation_->values[i];
    if (node.same_as) {
      value = translation_->values[*node.same_as];
      Value v = inputs_.at(*node.same_as);
      InputInfo info = graph_.input(v);
      info.names.insert(info.names.end(), node.input.names.begin(), node.input.names.end());
      graph_.set_input_info(v, std::move(info));
      return;
    }
    if (!node.meta.type) fail("has no tensor type");
    for (std::int64_t size : node.meta.type->shape)
      if (size > largest_size) fail("is {}, too large", to_text(*node.meta.type));
    InputInfo info = node.input;
    for (std::string& name : info.names)
      if (!source_names_.insert(name).second) name += "." + node.name;
    Value v = graph_.add_input(*node.meta.type, node.name, std::move(info));
    inputs_[i] = v;
    TensorId t = translation_->storages.fresh(v);
    take_strides(t, node.meta);
    value.tensor = t;
  }

  void take_strides(TensorId t, const Meta& meta) {
    if (meta.strides.empty()) return;
    if (meta.strides.size() != meta.type->shape.size())
      fail("has {} strides for {}", meta.strides.size(), to_text(*meta.type));
    for (std::int64_t stride : meta.strides)
      if (stride < -largest_size || stride > largest_size) fail("has a stride of {}", stride);
    translation_->storages.set_strides(t, meta.strides);
  }

  void constant(std::size_t i) {
    const SourceNode& node = source_.nodes[i];
    auto it = source_.constants.find(node.target);
    if (it == source_.constants.end())
      fail("constant '{}' has no value in the source", node.target);
    const Tensor& tensor = it->second;
    if (node.meta.type && *node.meta.type != tensor.type())
      fail("constant '{}' is {}, the graph says {}", node.target, to_text(tensor.type()),
           to_text(*node.meta.type));
    std::optional<Value> v = ops::add_constant(at(), tensor);
    if (!v) {
      translation_->constants.emplace(node.target, tensor);
      Type type = tensor.type();
      v = graph_.result(
          graph_.add(at(), {.op = &ops::constant,
                            .attributes = Attributes(ops::constant, {{"ref", node.target}}),
                            .types = std::span(&type, 1)}));
    }
    translation_->values[i].tensor = translation_->storages.fresh(*v);
    give_name(*v, node.name);
  }

  void call(std::size_t i) {
    const SourceNode& node = source_.nodes[i];
    auto [row, form] = found_[i];
    first_new_ = graph_.value_bound();
    OperatorCall call(*translation_, node, *row);
    Returned returned = row->translate(call);
    SourceValue& value = translation_->values[i];
    switch (form) {
      case Found::Form::plain:
        value = keep(returned);
        break;
      case Found::Form::in_place:
        value = write_back(call, returned);
        break;
      case Found::Form::out:
        value = write_out(call, keep(returned));
        break;
      case Found::Form::copied:
        value = copy_of(keep(returned));
        break;
    }
    for (std::uint32_t v = first_new_; translation_->stage > 0 && v < graph_.value_bound(); ++v)
      graph_.set_stage(graph_.node({v}), translation_->stage);
    compare_types(value, node.meta);
    name_results(value, node.name);
  }

  /// Gives new values a storage of their own.
  SourceValue keep(Returned& returned) {
    if (auto* v = std::get_if<Value>(&returned)) return own(*v);
    if (auto* v = std::get_if<SourceValue>(&returned)) return std::move(*v);
    SourceValue all;
    for (Value v : std::get<std::vector<Value>>(returned)) all.list.push_back(own(v));
    return all;
  }

  /// Gives the same values storages of their own.
  SourceValue copy_of(const SourceValue& v) {
    SourceValue copy;
    if (v.tensor) copy = own(translation_->storages.read(at(), *v.tensor));
    for (const SourceValue& item : v.list) copy.list.push_back(copy_of(item));
    return copy;
  }

  SourceValue own(Value v) {
    if (!v) return {};
    // A value that existed before this call belongs to another storage, which a write to this one
    // must not change.
    return {translation_->storages.fresh(v), {}};
  }

  /// The in-place form of an operator: writes the results into the first argument, cast to its
  /// dtype.
  SourceValue write_back(OperatorCall& call, Returned& returned) {
    std::string_view first = call.row().arguments;
    first = first.substr(0, first.find(' '));
    auto put = [&](TensorId t, Value v) {
      const Type type = call.type(t);
      if (row_kind(graph_.type(v).dtype) < row_kind(type.dtype))
        fail("cannot write {} into {}", to_text(graph_.type(v)), to_text(type));
      if (!graph_.type(v).pending) v = call.broadcast(call.cast(v, type.dtype), type.shape);
      call.write(t, v);
    };
    if (auto* alias = std::get_if<SourceValue>(&returned)) {
      TensorId self = call.tensor(first);
      if (!alias->tensor || call.type(*alias->tensor) != call.type(self))
        fail("changes the shape of a tensor in place");
      return call.alias(self);
    }
    if (auto* v = std::get_if<Value>(&returned)) {
      TensorId t = call.tensor(first);
      put(t, *v);
      return call.alias(t);
    }
    auto& values = std::get<std::vector<Value>>(returned);
    std::vector<TensorId> targets = call.tensors(first);
    if (targets.size() != values.size())
      fail("has {} results for {} tensors", values.size(), targets.size());
    SourceValue all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      put(targets[i], values[i]);
      all.list.push_back(call.alias(targets[i]));
    }
    return all;
  }

  /// The form with `out`: writes the results there, cast to its dtype. `out` is never resized.
  SourceValue write_out(OperatorCall& call, const SourceValue& results) {
    const Argument* out = call.find("out");
    if (out == nullptr) fail("argument 'out' is missing");
    std::vector<SourceValue> from = results.tensor ? std::vector{results} : results.list;
    std::vector<TensorId> to =
        results.tensor ? std::vector{call.tensor("out")} : call.tensors("out");
    if (from.size() != to.size()) fail("has {} results for {} tensors", from.size(), to.size());
    SourceValue all;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!from[i].tensor) fail("gives no tensor to write");
      call.write(to[i], call.cast(call.read(*from[i].tensor), call.type(to[i]).dtype));
      all.list.push_back(call.alias(to[i]));
    }
    return results.tensor ? all.list[0] : all;
  }

  static int row_kind(DType d) { return static_cast<int>(row(d).kind); }

  /// Compares the inferred types with those in the file, and takes over the file's strides.
  void compare_types(const SourceValue& v, const Meta& meta) {
    if (meta.type) {
      // A result that was masked out has no value here, even if the file gives its type.
      if (!v.tensor) return;
      const Type& ours = translation_->storages.type(*v.tensor);
      if (ours != *meta.type)
        fail("gives {}, the file says {}", to_text(ours), to_text(*meta.type));
      take_strides(*v.tensor, meta);
    }
    if (meta.list.size() > v.list.size() && !v.list.empty())
      fail("gives {}, the file says {}", count_of(std::ssize(v.list), "result"), meta.list.size());
    for (std::size_t i = 0; i < meta.list.size() && i < v.list.size(); ++i)
      compare_types(v.list[i], meta.list[i]);
  }

  /// Gives the results of a call the name that the call has in the source.
  void name_results(const SourceValue& v, const std::string& name) {
    if (v.tensor)
      if (Value seen = translation_->storages.last_seen(*v.tensor)) give_name(seen, name);
    for (std::size_t i = 0; i < v.list.size(); ++i)
      name_results(v.list[i], v.list.size() == 1 ? name : fmt::format("{}_{}", name, i));
  }

  void give_name(Value v, const std::string& name) {
    if (v.index < first_new_ || graph_.is_input(graph_.node(v))) return;
    std::string wanted;
    for (char c : name) wanted += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (wanted.empty() || std::isdigit(static_cast<unsigned char>(wanted[0])) != 0)
      wanted.insert(0, "_");
    graph_.rename(v, wanted);
  }

  void output(std::size_t i) {
    const SourceNode& node = source_.nodes[i];
    std::size_t next = 0;
    for (const Argument& a : node.args) add_outputs(a, next);
  }

  void add_outputs(const Argument& a, std::size_t& next) {
    if (const List* list = a.as<List>()) {
      for (const Argument& item : *list) add_outputs(item, next);
      return;
    }
    const Ref* ref = a.as<Ref>();
    if (ref == nullptr) {
      if (!a.none()) fail("returns something that is no tensor");
      ++next;  // an output without a value
      return;
    }
    const SourceValue* v = &translation_->values[ref->node];
    if (ref->result >= 0) v = &v->list.at(static_cast<std::size_t>(ref->result));
    add_output(*v, next);
  }

  void add_output(const SourceValue& v, std::size_t& next) {
    for (const SourceValue& item : v.list) add_output(item, next);
    if (!v.tensor && v.list.empty()) ++next;
    if (!v.tensor) return;
    translation_->storages.wait(at(), *v.tensor);
    std::string name = next < source_.output_names.size() ? source_.output_names[next]
                                                          : fmt::format("out{}", next);
    ++next;
    graph_.add_output(std::move(name), translation_->storages.read(at(), *v.tensor));
  }

  /// Writes back the results that the signature of the source lists as mutations.
  void mutations() {
    for (const Mutation& m : source_.mutations) {
      const SourceValue* v = &translation_->values[m.value.node];
      if (m.value.result >= 0) v = &v->list.at(static_cast<std::size_t>(m.value.result));
      if (!v->tensor) fail("{}: a mutation without a tensor", source_.where);
      TensorId to = *translation_->values[m.placeholder].tensor;
      translation_->storages.write(at(), to, translation_->storages.read(at(), *v->tensor));
    }
  }

  /// The value of a state at the end of the step becomes its next value.
  void carry_state() {
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      const SourceNode& node = source_.nodes[i];
      if (node.kind != SourceNode::Kind::placeholder || node.same_as) continue;
      TensorId t = *translation_->values[i].tensor;
      translation_->storages.wait(at(), t);
      Value now = translation_->storages.read(at(), t), was = inputs_.at(i);
      if (now == was) continue;
      if (!node.input.state) {
        translation_->remarks.push_back(
            {.where = node.name,
             .what = "the step writes into this input",
             .why = "an input is given anew for each iteration, so that nobody sees the write"});
        continue;
      }
      graph_.set_next(was, now);
    }
  }

  /// A transfer that the source starts but never waits for has no effect.
  void drop_unread_transfers() {
    for (NodeId n : reversed(graph_.nodes()))
      if (graph_[n].op->is_collective && graph_[n].op->pure() && !graph_.used(n)) graph_.erase(n);
  }

  const Source& source_;
  std::vector<Found> found_;
  Graph graph_;
  Translation* translation_ = nullptr;
  std::unordered_map<std::size_t, Value> inputs_;  // by source node
  std::set<std::string> source_names_;
  std::uint32_t first_new_ = 0;
};

}  // namespace

Imported translate(const Source& source) { return Importer(source).run(); }

}  // namespace hocket::frontend
