#pragma once
// Names of values: unique in a graph, `x`, then `x_1`, `x_2`, and never used again.

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

/// A name without its text: `add_7` is base `add` and number 7; a plain `add` has number 0.
struct Name {
  std::uint32_t base = 0;
  std::uint32_t number = 0;
  friend bool operator==(Name, Name) = default;
};

bool is_identifier(std::string_view text);

class NameTable {
 public:
  /// Gives `new_owner` a name made of `wanted`: itself when free, else with the next free number.
  Name claim(std::string_view wanted, std::uint32_t new_owner);
  Name claim(Name wanted, std::uint32_t new_owner);
  /// Takes a name from its owner. It is never given out again.
  void retire(Name name);
  /// Gives a name that has an owner another one.
  void reassign(Name name, std::uint32_t new_owner) { set(name, new_owner); }
  /// The owner of a name, 0 when it has none.
  std::uint32_t find(std::string_view text) const;
  void append(std::string& out, Name name) const;

  /// Bases are numbered from 0, in each table by itself.
  std::uint32_t base_count() const { return static_cast<std::uint32_t>(bases_.size()); }
  std::string_view base_text(std::uint32_t base) const { return texts_[base]; }
  /// The base with this text, made when there is none.
  std::uint32_t base_of(std::string_view text);

  void begin();
  void commit();
  void rollback();

 private:
  static constexpr std::uint32_t retired = 0xffffffff;
  struct Base {
    std::uint32_t next = 1;               // the smallest number that may be free
    std::uint32_t count = 0;              // of names claimed, which bounds the vector
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
