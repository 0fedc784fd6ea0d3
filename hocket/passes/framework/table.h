#pragma once
// All passes, and lists of them as they are written on a command line.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/passes/framework/pass.h"

namespace hocket {

/// One pass to be run: a name with options.
struct PassCall {
  std::string name;
  OptionTexts options;
  friend bool operator==(const PassCall&, const PassCall&) = default;
};

class PassTable {
 public:
  /// Adds a row; Error when the name is taken.
  void add(Pass pass);
  /// A word for a list of passes, such as `default`.
  void add_word(std::string word, std::string_view passes, std::string doc);

  const Pass& find(
      std::string_view name) const;  ///< Error with the nearest name when there is none
  const std::vector<Pass>& passes() const { return passes_; }

  struct Word {
    std::string name;
    std::vector<PassCall> calls;
    std::string doc;
  };
  const std::vector<Word>& words() const { return words_; }

  /// Error when a row names an unknown pass, or when no order satisfies all rows.
  void validate() const;

  /// Reads `item,item`, an item being `name` or `name:key=value:key=value`, `none`, or a word. A
  /// once-only pass written with options behind a word that holds it sets the options of that step;
  /// without options it is dropped with a remark, and so is one that a word brings a second time.
  /// What the user himself wrote twice stays, and is an error when it is run.
  std::vector<PassCall> parse(std::string_view text, std::vector<Remark>* remarks = nullptr) const;

 private:
  const Pass& known_item(std::string_view name) const;

  std::vector<Pass> passes_;
  std::vector<Word> words_;
};

/// The passes of the house.
PassTable standard_passes();

}  // namespace hocket
