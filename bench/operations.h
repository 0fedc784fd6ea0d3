#pragma once
// The operations on graphs whose scaling is measured.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/families.h"
#include "hocket/passes/framework/table.h"

namespace hocket::bench {

/// One graph, and its text for the parser.
struct Case {
  const Family* family;
  std::size_t nodes;
  Graph graph;
  std::string text;
  std::span<char> ballast;  ///< a buffer larger than the caches, to empty them
};

Case make_case(const Family& family, std::size_t nodes, std::span<char> ballast);

struct Operation {
  std::string name;
  std::function<double(const Case&)> seconds;  ///< of one run, on a copy if it edits
  double most_when_large = 1.15;               ///< the largest exponent from 100K nodes
};

/// All operations, including every pass of the table with every word that its options list. The
/// table must outlive the result.
std::vector<Operation> operations(const PassTable& table, const Family& family);

/// Throws unless the operations have the effect that they are measured for.
void check_operations(const Case& c);

}  // namespace hocket::bench
