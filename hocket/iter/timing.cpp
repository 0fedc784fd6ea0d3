#include "hocket/iter/timing.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/iter/lags.h"

namespace hocket {

Timing timing_of(const Graph& body) {
  const Lags lags(body);
  Timing timing;
  for (const Output& o : body.outputs()) timing.outputs.push_back(lags.output(o.value).lag);
  for (const Input& in : body.inputs())
    if (in.state && in.kind != StateKind::forwarded)
      timing.states.emplace(body.name(in.value), lags.lag(in.value));
  return timing;
}

std::optional<std::string> find_shift(const Graph& body, const Timing& before,
                                      const Timing& after) {
  auto told = [](const std::string& what, int now, int then) {
    return fmt::format("{} belongs to the iteration {} before, wanted {}", what, now, then);
  };
  std::vector<Output> outputs = body.outputs();
  for (std::size_t i = 0; i < std::min(before.outputs.size(), after.outputs.size()); ++i)
    if (before.outputs[i] != after.outputs[i])
      return told(
          outputs[i].name.empty() ? fmt::format("output {}", i) : "output " + outputs[i].name,
          after.outputs[i], before.outputs[i]);
  for (const auto& [name, lag] : after.states)
    if (auto was = before.states.find(name); was != before.states.end() && was->second != lag)
      return told("state %" + name, lag, was->second);
  return std::nullopt;
}

}  // namespace hocket
