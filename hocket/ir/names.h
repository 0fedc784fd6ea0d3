#pragma once
// Names of values: unique in a graph (`x`, then `x_1`, `x_2`), and never reused.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/hash.h"
#include "hocket/base/not_copied.h"
#include "hocket/base/small_vector.h"
#include "hocket/base/texts.h"

namespace hocket {

/// A name in compact form: `add_7` has the base `add` and the number 7; `add` has the number 0.
struct Name {
  std::uint32_t base = 0;
  std::uint32_t number = 0;
  friend bool operator==(Name, Name) = default;
};

bool is_identifier(std::string_view text);

class NameTable {
 public:
  /// Gives `new_owner` the name `wanted` if it is free, otherwise `wanted` with the next free
  /// number.
  Name claim(std::string_view wanted, std::uint32_t new_owner);
  Name claim(Name wanted, std::uint32_t new_owner);
  /// Removes a name from its owner. It is never reused.
  void retire(Name name);
  /// Moves a name to another owner.
  void reassign(Name name, std::uint32_t new_owner) { set(name, new_owner); }
  /// The owner of a name; 0 if there is none.
  std::uint32_t find(std::string_view text) const;
  void append(std::string& out, Name name) const;

  /// Bases are numbered from 0 in each table.
  std::uint32_t base_count() const { return static_cast<std::uint32_t>(bases_.size()); }
  std::string_view base_text(std::uint32_t base) const { return texts_[base]; }
  /// The base with this text, which is added if it is new.
  std::uint32_t base_of(std::string_view text);

  void begin();
  void commit();
  void rollback();

 private:
  static constexpr std::uint32_t retired = 0xffffffff;
  struct Base {
    std::uint32_t next = 1;               // the smallest number that may be free
    std::uint32_t count = 0;              // number of names claimed, which bounds the vector
    SmallVector<std::uint32_t, 2> dense;  // owners by number; larger numbers are in `sparse_`
  };
  struct Edit {
    Name name;
    std::uint32_t owner;
    std::uint32_t next;
  };

  struct Journal {
    bool open = false;
    std::vector<Edit> edits;
  };

  static std::uint64_t key(Name name) { return std::uint64_t{name.base} << 32 | name.number; }
  std::uint32_t owner(Name name) const;
  void set(Name name, std::uint32_t new_owner);
  void put(Name name, std::uint32_t new_owner);

  Texts texts_;  // of the bases
  std::vector<Base> bases_;
  std::unordered_map<std::uint64_t, std::uint32_t, MixedHash> sparse_;
  NotCopied<Journal> journal_;
};

}  // namespace hocket
