#include "hocket/driver/load.h"

#include "hocket/base/error.h"
#include "hocket/base/file.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket {

Program load(const std::string& source) {
  std::string text = read_file(source);
  try {
    return parse(text, ops::all());
  } catch (const Error& e) {
    fail("{}: {}", source == "-" ? "standard input" : source, e.what());
  }
}

}  // namespace hocket
