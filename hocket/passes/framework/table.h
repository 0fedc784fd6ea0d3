#pragma once
// All passes, and lists of them as they are written on a command line.

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

/// A step of a list of passes that has a name.
struct ListStep {
  std::string passes;  ///< as a user would write it
  std::string why;     ///< why it runs, and why at this place
};

class PassTable {
 public:
  /// Adds a row; Error when the name is taken.
  void add(Pass pass);
  /// A word for a list of passes, such as `default`. Its steps may be words themselves.
  void add_word(std::string word, std::string doc, std::vector<ListStep> steps);

  const Pass& find(
      std::string_view name) const;  ///< Error with the nearest name when there is none
  const std::vector<Pass>& passes() const { return passes_; }

  struct Word {
    std::string name;
    std::string doc;
    std::vector<ListStep> steps;
    std::vector<PassCall> calls;  ///< of all steps
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

/// The passes of this layer, one row each. The lists that have names are the compiler's
/// (driver/compile.h).
PassTable all_passes();

}  // namespace hocket
