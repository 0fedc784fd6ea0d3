#pragma once
// From a source to a Program: functional, in our ops, with the source's names.

#include <string>
#include <vector>

#include "hocket/frontend/source.h"
#include "hocket/ir/program.h"

namespace hocket::frontend {

struct Imported {
  Program program;
  std::vector<Remark> remarks;
  std::size_t nodes = 0;        ///< in the source
  std::size_t collectives = 0;  ///< in the source
};

/// Translates the calls one by one and makes writes into new values. Throws Error: all operators
/// that it does not know at once, or the first thing that cannot be expressed.
Imported translate(const Source& source);

}  // namespace hocket::frontend
