#pragma once
// Names of values: unique in a graph, `x`, then `x_1`, `x_2`, and never used again.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/hash.h"

namespace hocket {

/// A name without its text: `add_7` is base `add` and number 7; a plain `add` has number 0.
struct Name {
  std::uint32_t base = 0;
  std::uint32_t number = 0;
  friend bool operator==(Name, Name) = default;
};

bool is_identifier(std::string_view text);

class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable& o);
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable o) noexcept;
  ~NameTable() = default;

  /// Gives `owner` a name made of `wanted`: itself when free, else with the next free number.
  Name claim(std::string_view wanted, std::uint32_t owner);
  /// The name dies with its value, but is not given out again.
  void retire(Name name);
  /// Another owner for a name that has one.
  void reassign(Name name, std::uint32_t owner) { set(name, owner); }
  /// The owner of a name, 0 when nobody has it.
  std::uint32_t find(std::string_view text) const;
  void append(std::string& out, Name name) const;

  void begin();
  void commit();
  void rollback();

 private:
  static constexpr std::uint32_t retired = 0xffffffff;
  struct Base {
    std::string_view text;
    std::uint32_t next = 1;  // the smallest number that may be free
    // Owners by number; what is too far out for the vector is in the map.
    std::vector<std::uint32_t> dense;
    std::unordered_map<std::uint32_t, std::uint32_t, MixedHash> sparse;
    std::uint32_t count = 0;  // of names claimed, which bounds the vector
    std::uint32_t owner(std::uint32_t number) const;
  };
  struct Edit {
    Name name;
    std::uint32_t owner;
    std::uint32_t next;
  };

  std::uint32_t base_of(std::string_view text);
  void set(Name name, std::uint32_t owner);
  void put(Name name, std::uint32_t owner);

  std::deque<std::string> texts_;
  std::vector<Base> bases_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  bool journaling_ = false;
  std::vector<Edit> edits_;
};

}  // namespace hocket
