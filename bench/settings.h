#pragma once
// Compares pass lists on one step and one link, in turns, so that all run under the same
// conditions.

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

/// A step of the further data on random values, and a link on which its communication takes `part`
/// of the time of its compute without any pass.
struct Trial {
  std::string name;
  Step step;
  comm::Link link;
  double total_bytes = 0;  ///< of all collectives' operands
};
Trial make_trial(const std::string& name, double part = 1);

/// `default`, with buckets that hold this part of all bytes.
Setting with_cap(const Trial& trial, double part);

/// Runs every setting `rounds` times, in turns, and prints a table with ratios to the first.
std::vector<SettingRow> compare(const Trial& trial, std::span<const Setting> settings, int rounds);

}  // namespace hocket::bench
