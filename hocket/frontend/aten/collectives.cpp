// Functional collectives, in the current dialect and the previous one.

#include <algorithm>
#include <set>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/frontend/aten/operator_call.h"
#include "hocket/frontend/aten/operators.h"

namespace hocket::frontend {
namespace {

bool is_older(const OperatorCall& c) { return c.row().target.starts_with("c10d_functional."); }

/// The older dialect lists ranks: sets of `group_size` ranks, one after the other.
std::string listed_group(OperatorCall& c) {
  Ints ranks = c.ints("ranks");
  std::int64_t size = c.integer("group_size");
  std::int64_t all = c.graph().world().ranks();
  if (size < 1 || ranks.empty() || std::ssize(ranks) % size != 0)
    c.refuse(fmt::format("{} ranks in groups of {}", ranks.size(), size));
  std::vector<std::vector<int>> sets;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= all)
      c.refuse(fmt::format("rank {}, the world has {}", ranks[i], all));
    if (static_cast<std::int64_t>(i) % size == 0) sets.emplace_back();
    sets.back().push_back(static_cast<int>(ranks[i]));
  }
  if (sets.size() == 1 && size == all && std::ranges::is_sorted(sets[0])) return "world";
  std::string name = "ranks";
  for (std::int64_t r : ranks) name += fmt::format("_{}", r);
  if (sets.size() > 1) name += fmt::format("_by_{}", size);
  const World& world = c.graph().world();
  if (world.group_size(name)) return name;
  std::vector<ListedGroup> groups = world.groups();
  groups.push_back({name, std::move(sets)});
  c.graph().set_world(std::make_shared<const World>(world.mesh(), std::move(groups)));
  return name;
}

/// The group of a call: the one that the file lists under this name, otherwise the default group of
/// all ranks. (The name alone does not tell its members.)
std::string group(OperatorCall& c) {
  if (is_older(c)) return listed_group(c);
  std::string name = c.text("group_name");
  const World& world = c.graph().world();
  bool listed = c.translation().source.groups.contains(name);
  std::int64_t size = listed ? *world.group_size(name) : world.ranks();
  if (!listed && name != "0" && name != "default_pg" && c.translation().sole_group != name)
    c.refuse(fmt::format("the file does not say which ranks are in group {}", quoted(name)));
  if (c.has("group_size") && c.integer("group_size") != size)
    c.refuse(fmt::format("group {} has {} ranks, the call says {}", quoted(name), size,
                         c.integer("group_size")));
  return listed ? name : "world";
}

std::string reduction(OperatorCall& c) {
  std::string word = c.text("reduce_op");
  std::ranges::transform(word, word.begin(), [](unsigned char l) { return std::tolower(l); });
  if (word == "prod") word = "product";
  static const std::set<std::string, std::less<>> known{"sum", "avg", "min", "max", "product"};
  if (!known.contains(word)) c.refuse(fmt::format("reduces by {}", quoted(word)));
  return word;
}

/// The operands of a call: one tensor, or a list for a coalesced collective.
std::vector<Value> operands(OperatorCall& c) {
  return c.row().arguments.starts_with("inputs") ? c.values("inputs")
                                                 : std::vector<Value>{c.value("input")};
}

Returned started(OperatorCall& c, std::initializer_list<Named> attributes) {
  std::vector<Value> results = c.build_all(*c.row().op, operands(c), attributes);
  if (c.row().arguments.starts_with("inputs")) return results;
  return results[0];
}

Returned reducing(OperatorCall& c) {
  return started(c, {{"group", group(c)}, {"reduce", reduction(c)}});
}
Returned moving(OperatorCall& c) { return started(c, {{"group", group(c)}}); }
Returned from_root(OperatorCall& c) {
  std::string name = group(c);
  // In the source, too, `src` is a rank within the group.
  return started(c, {{"group", name}, {"root", c.integer("src")}});
}

Returned all_to_all(OperatorCall& c) {
  Ints receive = c.ints("output_split_sizes"), send = c.ints("input_split_sizes");
  return started(c, {{"group", group(c)}, {"send", send}, {"receive", receive}});
}

/// The in-place form, on a tensor or on each tensor of a list.
Returned in_place(OperatorCall& c, Returned (*functional)(OperatorCall&)) {
  Returned started = functional(c);
  if (Value* v = std::get_if<Value>(&started)) {
    TensorId t = c.tensor("input");
    c.write(t, *v);
    return c.alias(t);
  }
  std::vector<TensorId> to = c.tensors("inputs");
  SourceValue all;
  for (std::size_t i = 0; i < to.size(); ++i) {
    c.write(to[i], std::get<std::vector<Value>>(started)[i]);
    all.list.push_back(c.alias(to[i]));
  }
  return all;
}

Returned reducing_in_place(OperatorCall& c) { return in_place(c, reducing); }
Returned from_root_in_place(OperatorCall& c) { return in_place(c, from_root); }

/// A second wait on the same tensor has no effect and is dropped.
Returned wait(OperatorCall& c) {
  TensorId t = c.tensor("input");
  c.translation().storages.wait(c.at(), t);
  return c.alias(t);
}

constexpr Row collective_table[] = {
    {"_c10d_functional.all_reduce.default", "input reduce_op group_name", reducing,
     &ops::all_reduce},
    {"_c10d_functional.all_reduce_.default", "input reduce_op group_name", reducing_in_place,
     &ops::all_reduce},
    {"_c10d_functional.all_reduce_coalesced.default", "inputs reduce_op group_name", reducing,
     &ops::all_reduce},
    {"_c10d_functional.all_reduce_coalesced_.default", "inputs reduce_op group_name",
     reducing_in_place, &ops::all_reduce},
    {"_c10d_functional.all_gather_into_tensor.default", "input group_size group_name", moving,
     &ops::all_gather},
    {"_c10d_functional.all_gather_into_tensor_coalesced.default", "inputs group_size group_name",
     moving, &ops::all_gather},
    {"_c10d_functional.reduce_scatter_tensor.default", "input reduce_op group_size group_name",
     reducing, &ops::reduce_scatter},
    {"_c10d_functional.reduce_scatter_tensor_coalesced.default",
     "inputs reduce_op group_size group_name", reducing, &ops::reduce_scatter},
    {"_c10d_functional.all_to_all_single.default",
     "input output_split_sizes input_split_sizes group_name", all_to_all, &ops::all_to_all},
    {"_c10d_functional.broadcast.default", "input src group_name", from_root, &ops::broadcast_from},
    {"_c10d_functional.broadcast_.default", "input src group_name", from_root_in_place,
     &ops::broadcast_from},
    {"_c10d_functional.wait_tensor.default", "input", wait},
    {"c10d_functional.all_reduce.default", "input reduce_op tag ranks group_size", reducing,
     &ops::all_reduce},
    {"c10d_functional.all_reduce_coalesced.default", "inputs reduce_op tag ranks group_size",
     reducing, &ops::all_reduce},
    {"c10d_functional.all_gather_into_tensor.default", "input tag ranks group_size", moving,
     &ops::all_gather},
    {"c10d_functional.all_gather_into_tensor_coalesced.default", "inputs tag ranks group_size",
     moving, &ops::all_gather},
    {"c10d_functional.reduce_scatter_tensor.default", "input reduce_op tag ranks group_size",
     reducing, &ops::reduce_scatter},
    {"c10d_functional.reduce_scatter_tensor_coalesced.default",
     "inputs reduce_op tag ranks group_size", reducing, &ops::reduce_scatter},
    {"c10d_functional.all_to_all_single.default",
     "input output_split_sizes input_split_sizes tag ranks group_size", all_to_all,
     &ops::all_to_all},
    {"c10d_functional.broadcast.default", "input src tag ranks group_size", from_root,
     &ops::broadcast_from},
    {"c10d_functional.wait_tensor.default", "input", wait},
};

}  // namespace

std::span<const Row> collective_rows() { return collective_table; }

}  // namespace hocket::frontend
