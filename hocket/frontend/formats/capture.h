#pragma once
// Training steps traced with make_fx: `graph.json`, format `fx-capture`.

#include <string>
#include <string_view>

#include "hocket/frontend/source.h"

namespace hocket::frontend {

/// Reads the text of a capture; `where` starts the messages. Every reference is to an earlier node,
/// names are unique, and the output comes last. Constants in the text itself are in the table; the
/// caller adds those in a separate file, by the targets of constant nodes. An output that is a dict
/// becomes a list with names. Throws Error.
Source read_capture(std::string_view json_text, std::string where);

}  // namespace hocket::frontend
