#pragma once
// What every target demands of what it looks at.

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hocket/base/text.h"

namespace hocket::fuzz {

inline void require(bool good, std::string_view what) {
  if (!good) throw std::runtime_error(std::string(what));
}

/// Where no exception may come at all, it gets the name of the step in front.
template <class Step>
auto must(std::string_view name, Step step) {
  try {
    return step();
  } catch (const std::exception& e) {
    throw std::runtime_error(fmt::format("{}: {}", name, e.what()));
  }
}

inline void require_one_line(std::string_view message, std::string_view start) {
  auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  require(message.starts_with(start), fmt::format("message does not start with '{}'", start));
  require(std::none_of(message.begin(), message.end(), control),
          fmt::format("message with control characters: {}", quoted(message)));
}

}  // namespace hocket::fuzz
