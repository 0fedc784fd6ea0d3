#pragma once
// Pass lists compared on one step, in turns and on one link, so that all see the same machine.

#include <span>
#include <string>
#include <vector>

#include "hocket/driver/run.h"

namespace hocket::bench {

struct Setting {
  std::string name, passes;
};

struct SettingRow {
  std::vector<double> step, compute, communication, exposed;  // seconds, one for each round
  std::int64_t collectives = 0;

  double seconds() const;  ///< median of a step
};

/// A graph of the further data on random values, and a link on which its communication takes
/// `part` of its compute when nothing is done about it.
struct Trial {
  std::string name;
  Step step;
  comm::Link link;
  double total_bytes = 0;  ///< of all collectives' operands
};
Trial make_trial(const std::string& name, double part = 1);

/// `default` with buckets of this part of all bytes.
Setting with_cap(const Trial& trial, double part);

/// Runs every setting `rounds` times, in turns, and prints a table with ratios to the first.
std::vector<SettingRow> compare(const Trial& trial, std::span<const Setting> settings, int rounds);

}  // namespace hocket::bench
