// docs/language.md says what the code says.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hocket/base/file.h"
#include "hocket/ir/verify.h"

namespace hocket {
namespace {

TEST(Language, DocumentHasTheRulesOfTheVerifier) {
  std::string text = read_file(HOCKET_SOURCE_DIR "/docs/language.md");
  for (const Rule& rule : verifier_rules())
    EXPECT_NE(text.find(fmt::format("| `{}` | {} |", rule.name, rule.doc)), text.npos) << rule.name;
}

}  // namespace
}  // namespace hocket
