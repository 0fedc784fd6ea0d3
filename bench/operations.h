#pragma once
// What is done to a graph, for the benchmark of how its time grows.

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
  std::span<char> ballast;  ///< larger than the caches, when they are to be emptied
};

Case make_case(const Family& family, std::size_t nodes, std::span<char> ballast);

struct Operation {
  std::string name;
  std::function<double(const Case&)> seconds;  ///< of doing it once, on a copy where it edits
};

/// Every pass of the table is in it by itself, with every word that an option of it lists. The
/// table must outlive the list.
std::vector<Operation> operations(const PassTable& table, const Family& family);

/// The numbers mean nothing unless the operations do what they say: throws when they do not.
void check_operations(const Case& c);

}  // namespace hocket::bench
