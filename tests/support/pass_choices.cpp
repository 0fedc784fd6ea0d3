#include "support/pass_choices.h"

#include <algorithm>

namespace hocket::testing {

std::vector<std::string> values_to_try(const OptionRow& option) {
  if (!option.values.empty()) return option.values;
  if (option.kind == "bool") return {"false", "true"};
  if (option.kind == "size") return {"4KiB", "64KiB", "1MiB", "25MiB"};
  return {};
}

std::vector<PassCall> with_needs(const PassTable& table, const PassCall& call) {
  std::vector<PassCall> calls;
  for (const std::string& need : table.find(call.name).needs)
    for (PassCall& c : with_needs(table, {need, {}}))
      if (std::ranges::find(calls, c) == calls.end()) calls.push_back(std::move(c));
  calls.push_back(call);
  return calls;
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
