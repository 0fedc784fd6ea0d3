#pragma once
// From a program to a plan: phases, kernels, instructions, and an address for every value.

#include <cstdint>
#include <vector>

#include "hocket/base/remark.h"
#include "hocket/codegen/backend.h"
#include "hocket/plan/plan.h"

namespace hocket {

struct LowerOptions {
  Backend* backend = nullptr;              ///< runs what it can, the reference kernels the rest
  std::int64_t memory_limit = 0;           ///< bytes of an arena at most; 0: none
  std::vector<Remark>* remarks = nullptr;  ///< gets the reasons of second buffers
};

/// A plan that runs the program, whose `source` is empty and whose origin names the backend alone.
/// For a program for one rank it serves any number of copies. Error when delays and forwarded state
/// do not fit together, or when an arena is larger than the limit: with the instant and what is
/// alive there. O(n log n) in the nodes of all phases.
Plan lower(const Program& program, const LowerOptions& options = {});

}  // namespace hocket
