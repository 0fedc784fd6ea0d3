#include "hocket/ir/names.h"

#include <algorithm>
#include <charconv>

#include "hocket/base/text.h"

namespace hocket {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Splits `add_7` into `add` and 7. Numbers that would not print the same way (`_0`, `_07`, very
/// long ones) belong to the base.
std::pair<std::string_view, std::uint32_t> split_number(std::string_view text) {
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  std::size_t length = text.size() - digits;
  if (length == 0 || length > 9 || digits < 2 || text[digits - 1] != '_' || text[digits] == '0')
    return {text, 0};
  std::uint32_t number = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return {text.substr(0, digits - 1), number};
}

/// Turns any text into an identifier: other characters become `_`, and `_` is put before a leading
/// digit.
std::string sanitised(std::string_view text) {
  std::string out;
  if (text.empty() || is_digit(text.front())) out = "_";
  for (char c : text) out += is_letter(c) || is_digit(c) ? c : '_';
  return out;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::uint32_t NameTable::owner(Name name) const {
  const Base& base = bases_[name.base];
  if (name.number < base.dense.size() && base.dense[name.number] != 0)
    return base.dense[name.number];
  if (sparse_.empty()) return 0;
  auto it = sparse_.find(key(name));
  return it == sparse_.end() ? 0 : it->second;
}

std::uint32_t NameTable::base_of(std::string_view text) {
  std::uint32_t base = texts_.add(text);
  if (base == bases_.size()) bases_.emplace_back();
  return base;
}

void NameTable::put(Name name, std::uint32_t new_owner) {
  Base& base = bases_[name.base];
  if (name.number >= base.dense.size()) {
    if (name.number > base.count * 2 + 16) {
      sparse_[key(name)] = new_owner;
      return;
    }
    while (base.dense.size() <= name.number) base.dense.push_back(0);
  }
  base.dense[name.number] = new_owner;
  if (!sparse_.empty()) sparse_.erase(key(name));
}

void NameTable::set(Name name, std::uint32_t new_owner) {
  if (journal_->open) journal_->edits.push_back({name, owner(name), bases_[name.base].next});
  put(name, new_owner);
}

Name NameTable::claim(std::string_view wanted, std::uint32_t new_owner) {
  std::string clean;
  if (!is_identifier(wanted)) wanted = clean = sanitised(wanted);
  auto [text, number] = split_number(wanted);
  return claim(Name{base_of(text), number}, new_owner);
}

Name NameTable::claim(Name name, std::uint32_t new_owner) {
  Base& base = bases_[name.base];
  ++base.count;
  if (owner(name) == 0) {
    set(name, new_owner);
    return name;
  }
  std::uint32_t old_next = base.next;
  while (owner({name.base, base.next}) != 0) ++base.next;
  name.number = base.next;
  if (journal_->open) journal_->edits.push_back({name, 0, old_next});
  put(name, new_owner);
  return name;
}

void NameTable::retire(Name name) { set(name, retired); }

std::uint32_t NameTable::find(std::string_view text) const {
  auto [base_text, number] = split_number(text);
  std::uint32_t base = texts_.find(base_text);
  if (base == Texts::none) return 0;
  std::uint32_t found = owner({base, number});
  return found == retired ? 0 : found;
}

void NameTable::append(std::string& out, Name name) const {
  out += texts_[name.base];
  if (name.number == 0) return;
  out += '_';
  append_number(out, std::int64_t{name.number});
}

void NameTable::begin() { journal_.value = {.open = true, .edits = {}}; }

void NameTable::commit() { journal_.value = {}; }

void NameTable::rollback() {
  auto& edits = journal_->edits;
  for (; !edits.empty(); edits.pop_back()) {
    const Edit& e = edits.back();
    put(e.name, e.owner);
    bases_[e.name.base].next = e.next;
  }
  journal_.value = {};
}

}  // namespace hocket
