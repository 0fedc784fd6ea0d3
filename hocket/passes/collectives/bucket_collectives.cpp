#include "hocket/passes/collectives/bucket_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/ops/ops.h"
#include "hocket/ops/work.h"
#include "hocket/passes/analysis/dataflow.h"
#include "hocket/passes/analysis/gradients.h"
#include "hocket/passes/analysis/own_groups.h"
#include "hocket/passes/analysis/restore_order.h"
#include "hocket/passes/collectives/bucket_divisions.h"
#include "hocket/passes/collectives/bucket_plan.h"
#include "hocket/passes/framework/node_names.h"

namespace hocket {
namespace {

/// The key of a bucket as text: op, attributes and dtype of its members.
std::string kind_of(const Graph& g, NodeId n) {
  const Node& node = g[n];
  std::string key(node.op->name);
  auto values = node.attributes.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (node.op->attributes[i].name == "channel") continue;
    key += ' ';
    append(key, values[i]);
  }
  return key + fmt::format(" {} {} {}", name(g.type(node.inputs[0]).dtype), node.delay, node.stage);
}

/// Why a collective cannot be in a bucket; nothing when it can.
std::string refusal(const Graph& g, NodeId n, OwnGroups& own, const std::vector<bool>& gradients) {
  const Node& node = g[n];
  if (!own.owns(node)) return "ranks that run another graph take part";
  if (node.op->has_effect) return fmt::format("a {} has one partner", node.op->name);
  for (Value v : node.inputs)
    if (g.type(v).dtype != g.type(node.inputs[0]).dtype)
      return fmt::format("{} and {} have different dtypes", shown(g, node.inputs[0]), shown(g, v));
  if (!gradients.empty() && !gradients[n.index]) return "what it brings is no gradient";
  return "";
}

std::vector<BucketCandidate> find_candidates(Graph& g, const BucketCollectives& options) {
  std::vector<bool> gradients;
  if (options.only == "gradients") gradients = find_gradient_collectives(g);
  OwnGroups own(g);
  std::map<std::string, std::uint32_t> streams, keys;
  auto number = [](auto& table, std::string text) {
    return table.emplace(std::move(text), static_cast<std::uint32_t>(table.size())).first->second;
  };
  std::vector<BucketCandidate> list;
  for (NodeId n : std::as_const(g).nodes()) {
    if (!g[n].op->is_collective) continue;
    if (std::string why = refusal(g, n, own, gradients); !why.empty()) {
      g.remark({.where = shown(g, n), .what = "left alone", .why = std::move(why)});
      continue;
    }
    std::string kind = kind_of(g, n);
    BucketCandidate c{.node = n, .stream = number(streams, kind)};
    if (options.by == "path") kind += fmt::format(" {}", quoted(g.path(n)));
    c.key = number(keys, std::move(kind));
    c.bytes = operand_bytes(g, n);
    list.push_back(c);
  }
  return list;
}

/// Replaces all uses of a value by another one, which takes over its name.
void replace(Graph& g, Value old, Value with) {
  g.replace_uses(old, with);
  g.swap_names(old, with);
}

/// Replaces several collectives by one with all their members, at the place of the first and with
/// their smallest channel.
NodeId merge_members(Graph& g, const std::vector<NodeId>& members) {
  NodeId place = members[0], oldest = members[0];
  std::vector<Value> operands;
  std::unordered_map<Value, std::uint32_t> index;
  for (NodeId n : members) {
    if (g.before(n, place)) place = n;
    if (g[n].attr<std::int64_t>("channel") < g[oldest].attr<std::int64_t>("channel")) oldest = n;
    for (Value v : g[n].inputs)
      if (index.emplace(v, static_cast<std::uint32_t>(operands.size())).second)
        operands.push_back(v);
  }
  NodeId bucket = g.add(At(g, place), {.op = g[place].op,
                                       .inputs = operands,
                                       .attributes = g[oldest].attributes,
                                       .path = common_path(g, members),
                                       .delay = g[place].delay,
                                       .stage = g[place].stage});
  std::vector<bool> named(operands.size());
  for (NodeId n : members) {
    for (std::uint32_t i = 0; i < g[n].inputs.size(); ++i) {
      std::uint32_t at = index[g[n].inputs[i]];
      Value old = g.result(n, i), with = g.result(bucket, at);
      if (named[at])
        g.replace_uses(old, with);
      else
        replace(g, old, with);
      named[at] = true;
    }
    g.erase(n);
  }
  return bucket;
}

/// Merges the waits of a bucket that have the same delay and stage into one, at the place of the
/// first.
void merge_waits(Graph& g, NodeId bucket) {
  std::vector<NodeId> waits = readers_of(g, bucket);
  if (waits.empty()) return;
  NodeId first = waits[0];
  std::erase_if(waits, [&](NodeId n) {
    return g[n].delay != g[first].delay || g[n].stage != g[first].stage;
  });
  if (waits.size() < 2) return;
  std::vector<Value> arriving;
  for (NodeId n : waits) arriving.insert(arriving.end(), g[n].inputs.begin(), g[n].inputs.end());
  std::sort(arriving.begin(), arriving.end());
  arriving.erase(std::unique(arriving.begin(), arriving.end()), arriving.end());
  NodeId merged = g.add(At(g, waits[0]), {.op = &ops::wait,
                                          .inputs = arriving,
                                          .path = common_path(g, waits),
                                          .delay = g[first].delay,
                                          .stage = g[first].stage});
  std::unordered_map<Value, std::uint32_t> index;
  for (std::uint32_t i = 0; i < arriving.size(); ++i) index.emplace(arriving[i], i);
  std::vector<bool> named(arriving.size());
  for (NodeId n : waits) {
    for (std::uint32_t i = 0; i < g[n].inputs.size(); ++i) {
      std::uint32_t at = index.at(g[n].inputs[i]);
      if (named[at])
        g.replace_uses(g.result(n, i), g.result(merged, at));
      else
        replace(g, g.result(n, i), g.result(merged, at));
      named[at] = true;
    }
    g.erase(n);
  }
}

void treat_divisions(Graph& g, NodeId bucket, const BucketCollectives& options) {
  if (options.divide == "after") divide_after(g, bucket);
  merge_divisions(g, bucket);
}

void make_bucket(Graph& g, const PlannedBucket& plan, const BucketCollectives& options) {
  if (plan.members.size() == 1) {
    NodeId only = plan.members[0];
    if (g[only].inputs.size() > 1) treat_divisions(g, only, options);  // an earlier bucket
    return g.remark({.where = shown(g, only), .what = "left alone", .why = plan.why});
  }
  std::vector<std::string> names;
  for (NodeId n : plan.members) names.push_back(shown(g, n));
  NodeId bucket = merge_members(g, plan.members);
  merge_waits(g, bucket);
  treat_divisions(g, bucket, options);
  std::string head = shown(g, bucket);
  g.remark({.where = head,
            .what = fmt::format("bucket of {} collectives, {} bytes", names.size(), plan.bytes),
            .why = plan.why});
  for (std::string& name : names)
    if (name != head)
      g.remark({.where = std::move(name),
                .what = fmt::format("joined the bucket of {}", head),
                .why = "same op, attributes and dtype, and independent"});
}

}  // namespace

void bucket_collectives(Graph& g, const BucketCollectives& options) {
  std::vector<PlannedBucket> plan = plan_buckets(
      g, find_candidates(g, options), {.first = options.first.count, .cap = options.cap.count});
  std::uint64_t before = g.edits();
  for (const PlannedBucket& bucket : plan) make_bucket(g, bucket, options);
  if (g.edits() != before) restore_order(g);
}

}  // namespace hocket
