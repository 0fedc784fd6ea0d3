#pragma once
// Translates a source to a Program: functional, in Hocket's ops, with the source's names.

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

/// Translates the calls one by one and turns writes into new values. Throws Error with all unknown
/// operators, or with the first call that cannot be expressed.
Imported translate(const Source& source);

}  // namespace hocket::frontend
