#include "support/pass_choices.h"

#include <algorithm>

namespace hocket::testing {
namespace {

bool among(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

/// Whether the order rules of the table allow the pass after `applied`.
bool allowed(const PassTable& table, const Pass& pass, const std::vector<std::string>& applied) {
  if (pass.bits != Bits::same || (pass.once && among(applied, pass.name))) return false;
  return std::ranges::all_of(pass.needs, [&](const auto& need) { return among(applied, need); }) &&
         std::ranges::none_of(applied, [&](const std::string& name) {
           return among(table.find(name).after, pass.name);
         });
}

PassCall random_call(Random& random, const Pass& pass, Tensors tensors) {
  PassCall call{pass.name, {}};
  for (const OptionRow& option : pass.options) {
    std::vector<std::string> values = values_to_try(option, tensors);
    if (!values.empty() && below(random, 2) == 0)
      call.options.emplace_back(option.name, values[below(random, values.size())]);
    if (pass.bits_with(call.options) == Bits::changes) call.options.pop_back();
  }
  return call;
}

}  // namespace

std::vector<std::string> values_to_try(const OptionRow& option, Tensors tensors) {
  if (!option.values.empty()) return option.values;
  if (option.kind == "bool") return {"false", "true"};
  if (option.kind != "size") return {};
  if (tensors == Tensors::tiny) return {"8", "16", "32", "64", "200"};
  return {"4KiB", "64KiB", "1MiB", "25MiB"};
}

std::vector<PassCall> with_needs(const PassTable& table, const PassCall& call) {
  std::vector<PassCall> calls;
  for (const std::string& need : table.find(call.name).needs)
    for (PassCall& c : with_needs(table, {need, {}}))
      if (std::ranges::find(calls, c) == calls.end()) calls.push_back(std::move(c));
  calls.push_back(call);
  return calls;
}

std::vector<PassCall> random_list(Random& random, const PassTable& table, std::size_t most,
                                  Tensors tensors, std::vector<std::string> applied) {
  std::vector<PassCall> list;
  std::size_t length = 1 + below(random, most);
  while (list.size() < length) {
    std::vector<const Pass*> open;
    for (const Pass& pass : table.passes())
      if (allowed(table, pass, applied)) open.push_back(&pass);
    if (open.empty()) break;
    const Pass& pass = *open[below(random, open.size())];
    list.push_back(random_call(random, pass, tensors));
    applied.push_back(pass.name);
  }
  return list;
}

std::string to_text(const std::vector<PassCall>& calls) {
  std::string text;
  for (const PassCall& call : calls) {
    if (!text.empty()) text += ',';
    text += call.name;
    for (const auto& [key, value] : call.options) text += ":" + key + "=" + value;
  }
  return text.empty() ? "none" : text;
}

}  // namespace hocket::testing
