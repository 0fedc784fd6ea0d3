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

/// Any text as an identifier: other characters become `_`, a leading digit gets one in front.
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

NameTable::NameTable(const NameTable& o) : texts_(o.texts_), bases_(o.bases_) {
  for (std::uint32_t i = 0; i < bases_.size(); ++i) {
    bases_[i].text = texts_[i];
    index_.emplace(texts_[i], i);
  }
}

NameTable& NameTable::operator=(NameTable o) noexcept {
  std::swap(texts_, o.texts_);
  std::swap(bases_, o.bases_);
  std::swap(index_, o.index_);
  std::swap(journaling_, o.journaling_);
  std::swap(edits_, o.edits_);
  return *this;
}

std::uint32_t NameTable::Base::owner(std::uint32_t number) const {
  if (number < dense.size() && dense[number] != 0) return dense[number];
  if (sparse.empty()) return 0;
  auto it = sparse.find(number);
  return it == sparse.end() ? 0 : it->second;
}

std::uint32_t NameTable::base_of(std::string_view text) {
  auto it = index_.find(text);
  if (it != index_.end()) return it->second;
  auto id = static_cast<std::uint32_t>(bases_.size());
  texts_.emplace_back(text);
  bases_.push_back({.text = texts_.back()});
  index_.emplace(texts_.back(), id);
  return id;
}

void NameTable::put(Name name, std::uint32_t owner) {
  Base& base = bases_[name.base];
  if (name.number < base.dense.size()) {
    base.dense[name.number] = owner;
    if (!base.sparse.empty()) base.sparse.erase(name.number);
  } else if (name.number <= base.count * 2 + 16) {
    base.dense.resize(name.number + 1);
    base.dense[name.number] = owner;
  } else {
    base.sparse[name.number] = owner;
  }
}

void NameTable::set(Name name, std::uint32_t owner) {
  Base& base = bases_[name.base];
  if (journaling_) edits_.push_back({name, base.owner(name.number), base.next});
  put(name, owner);
}

Name NameTable::claim(std::string_view wanted, std::uint32_t owner) {
  std::string clean;
  if (!is_identifier(wanted)) wanted = clean = sanitised(wanted);
  auto [text, number] = split_number(wanted);
  Name name{base_of(text), number};
  Base& base = bases_[name.base];
  ++base.count;
  if (base.owner(name.number) != 0) {
    std::uint32_t old_next = base.next;
    while (base.owner(base.next) != 0) ++base.next;
    name.number = base.next;
    if (journaling_) edits_.push_back({name, 0, old_next});
    put(name, owner);
    return name;
  }
  set(name, owner);
  return name;
}

void NameTable::retire(Name name) { set(name, retired); }

std::uint32_t NameTable::find(std::string_view text) const {
  auto [base, number] = split_number(text);
  auto it = index_.find(base);
  if (it == index_.end()) return 0;
  std::uint32_t owner = bases_[it->second].owner(number);
  return owner == retired ? 0 : owner;
}

void NameTable::append(std::string& out, Name name) const {
  out += bases_[name.base].text;
  if (name.number == 0) return;
  out += '_';
  append_number(out, std::int64_t{name.number});
}

void NameTable::begin() {
  journaling_ = true;
  edits_.clear();
}

void NameTable::commit() {
  journaling_ = false;
  edits_.clear();
}

void NameTable::rollback() {
  for (; !edits_.empty(); edits_.pop_back()) {
    const Edit& e = edits_.back();
    put(e.name, e.owner);
    bases_[e.name.base].next = e.next;
  }
  journaling_ = false;
}

}  // namespace hocket
