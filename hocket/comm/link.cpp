#include "hocket/comm/link.h"

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "hocket/base/error.h"
#include "hocket/base/text.h"

namespace hocket::comm {
namespace {

using Unit = std::pair<std::string_view, double>;

double quantity(std::string_view text, std::span<const Unit> units, std::string_view wanted) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = trim({end, text.data() + text.size()});
  if (error == std::errc() && std::isfinite(value) && value >= 0)
    for (auto [name, factor] : units)
      if (name == unit) return value * factor;
  fail("link: found {}, wanted {}", shown(text), wanted);
}

}  // namespace

Link parse_link(std::string_view text) {
  static constexpr Unit rates[] = {
      {"bps", 1 / 8.0}, {"Kbps", 1e3 / 8}, {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}};
  static constexpr Unit times[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  auto parts = split(text, ',');
  if (parts.size() != 2)
    fail("link: found {}, wanted BANDWIDTH,LATENCY as 10Gbps,20us", shown(text));
  Link link{quantity(trim(parts[0]), rates, "a bandwidth as 10Gbps (bps, Kbps, Mbps, Gbps)"),
            quantity(trim(parts[1]), times, "a latency as 20us (s, ms, us, ns)")};
  if (link.bandwidth == 0) fail("link: found {}, wanted a bandwidth above 0", shown(text));
  return link;
}

}  // namespace hocket::comm
