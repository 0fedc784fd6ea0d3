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

/// A step of a named list of passes.
struct ListStep {
  std::string passes;  ///< as a user would write it
  std::string why;     ///< why it runs at this place
};

class PassTable {
 public:
  /// Adds a row; Error when the name is taken.
  void add(Pass pass);
  /// Adds a word, the name of a list of passes such as `default`. Its steps may be words.
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

  /// Reads a list `item,item`. An item is `name`, `name:key=value:key=value`, `none`, or a word. A
  /// pass that runs at most once may already be in a word of the list: if the user writes it again
  /// with options, these replace the options of that step; without options it is dropped with a
  /// remark, as is a second one that comes from a word. A pass that the user wrote twice stays, and
  /// is an error when it runs.
  std::vector<PassCall> parse(std::string_view text, std::vector<Remark>* remarks = nullptr) const;

 private:
  const Pass& known_item(std::string_view name) const;

  std::vector<Pass> passes_;
  std::vector<Word> words_;
};

/// The table of all passes in this layer. Named lists such as `default` are added by
/// standard_passes() (driver/compile.h).
PassTable all_passes();

}  // namespace hocket
