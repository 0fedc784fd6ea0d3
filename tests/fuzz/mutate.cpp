#include "mutate.h"

#include <algorithm>

namespace hocket::fuzz {

using namespace std::string_view_literals;

std::uint64_t Random::operator()() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace {

struct Range {
  std::size_t at = 0, size = 0;
  std::size_t end() const { return at + size; }
};

std::string_view slice(std::string_view text, Range r) { return text.substr(r.at, r.size); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

// ---- places: where an edit may happen

/// Mostly short, at times anything.
Range some_bytes(std::string_view text, Random& random) {
  std::size_t at = random.below(text.size());
  std::size_t most = text.size() - at;
  std::size_t size = random.one_in(4) ? most : std::min<std::size_t>(most, 16);
  return {at, size == 0 ? 0 : 1 + random.below(size)};
}

/// The maximal run of characters of a kind at or behind a random place; empty when there is none.
template <class Kind>
Range some_run(std::string_view text, Random& random, Kind kind) {
  std::size_t at = random.below(text.size());
  while (at < text.size() && !kind(text[at])) ++at;
  if (at == text.size()) return {at, 0};
  std::size_t end = at;
  while (at > 0 && kind(text[at - 1])) --at;
  while (end < text.size() && kind(text[end])) ++end;
  return {at, end - at};
}

/// The word that starts at a place; empty when none does.
Range word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return {at, end - at};
}

Range some_word(std::string_view text, Random& random) { return some_run(text, random, is_word); }

/// One line with its line break.
Range some_line(std::string_view text, Random& random) {
  if (text.empty()) return {};
  std::size_t inside = random.below(text.size());
  std::size_t at = inside == 0 ? 0 : text.rfind('\n', inside - 1) + 1;  // npos + 1 is 0
  return {at, std::min(text.find('\n', inside), text.size() - 1) + 1 - at};
}

/// From an opening bracket to the one that closes it; empty when there is none near.
Range some_brackets(std::string_view text, Random& random) {
  std::size_t open = text.find_first_of("([{", random.below(text.size()));
  if (open == text.npos) return {};
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    if (depth == 0) return {open, i + 1 - open};
  }
  return {};
}

// ---- edits

using Edit = void (*)(std::string&, const Material&, Random&);

void change_byte(std::string& text, const Material&, Random& random) {
  if (text.empty()) return;
  static constexpr auto telling = "\0\xff\x80\r\n\t \"\\#%@[](){}=,:.-0e"sv;
  char& c = random.pick(text);
  if (random.one_in(2))
    c = random.pick(telling);
  else if (random.one_in(2))
    c = static_cast<char>(c ^ (1 << random.below(8)));
  else
    c = static_cast<char>(random());
}

void erase_bytes(std::string& text, const Material&, Random& random) {
  Range r = some_bytes(text, random);
  text.erase(r.at, r.size);
}

void cut_off(std::string& text, const Material&, Random& random) {
  text.resize(random.below(text.size() + 1));
}

void copy_bytes(std::string& text, const Material&, Random& random) {
  std::string piece(slice(text, some_bytes(text, random)));
  text.insert(random.below(text.size() + 1), piece);
}

void repeat(std::string& text, const Material&, Random& random) {
  Range r = random.one_in(2) ? some_line(text, random) : some_bytes(text, random);
  std::string piece(slice(text, r));
  std::size_t times = 1 + random.below(random.one_in(8) ? 200 : 8);
  std::string many;
  for (std::size_t i = 0; i < times; ++i) many += piece;
  text.insert(r.end(), many);
}

void splice(std::string& text, const Material& material, Random& random) {
  const std::string& other = random.pick(material.texts);
  std::size_t at = random.below(text.size() + 1);
  if (random.one_in(2))
    text.replace(at, text.npos, other, random.below(other.size() + 1), other.npos);
  else
    text.insert(at, slice(other, some_bytes(other, random)));
}

void add_line_of_another(std::string& text, const Material& material, Random& random) {
  const std::string& other = random.pick(material.texts);
  text.insert(some_line(text, random).at, slice(other, some_line(other, random)));
}

void insert_token(std::string& text, const Material& material, Random& random) {
  if (material.tokens.empty()) return;
  text.insert(random.below(text.size() + 1), random.pick(material.tokens));
}

void replace_word(std::string& text, const Material& material, Random& random) {
  Range r = some_word(text, random);
  if (!material.tokens.empty() && random.one_in(2))
    text.replace(r.at, r.size, random.pick(material.tokens));
  else
    text.replace(r.at, r.size, std::string(slice(text, some_word(text, random))));
}

void erase_word(std::string& text, const Material&, Random& random) {
  Range r = some_word(text, random);
  text.erase(r.at, r.size);
}

/// Where ranges end: a power of two, give or take one, of either sign.
std::string power_of_two(Random& random) {
  std::uint64_t magnitude = (std::uint64_t{1} << random.below(64)) + random.below(3) - 1;
  return (random.one_in(8) ? "-" : "") + std::to_string(magnitude);
}

void replace_number(std::string& text, const Material&, Random& random) {
  static constexpr std::string_view odd[] = {"-1",
                                             "-0.0",
                                             "inf",
                                             "-inf",
                                             "nan",
                                             "-nan",
                                             "1e400",
                                             "1e-400",
                                             "1e308",
                                             "4.9e-324",
                                             "18446744073709551616",
                                             "1.",
                                             "1e",
                                             "00000000000000000001",
                                             "999999999"};
  Range r = some_run(text, random, is_digit);
  std::string number(slice(text, r));
  if (!number.empty() && random.one_in(3))
    number.back() = static_cast<char>('0' + random.below(10));  // a neighbour
  else if (random.one_in(2))
    number = power_of_two(random);
  else
    number = random.pick(odd);
  text.replace(r.at, r.size, number);
}

void erase_line(std::string& text, const Material&, Random& random) {
  Range r = some_line(text, random);
  text.erase(r.at, r.size);
}

void move_line(std::string& text, const Material&, Random& random) {
  Range r = some_line(text, random);
  std::string line(slice(text, r));
  text.erase(r.at, r.size);
  text.insert(some_line(text, random).at, line);
}

void swap_words(std::string& text, const Material&, Random& random) {
  Range a = some_word(text, random), b = some_word(text, random);
  if (b.at < a.at) std::swap(a, b);
  if (b.at < a.end()) return;
  std::string first(slice(text, a)), second(slice(text, b));
  text.replace(b.at, b.size, first);
  text.replace(a.at, a.size, second);
}

/// One word becomes another wherever it stands, so that what was consistent may stay so.
void rename(std::string& text, const Material& material, Random& random) {
  std::string old(slice(text, some_word(text, random)));
  std::string word(slice(text, some_word(text, random)));
  if (!material.tokens.empty() && random.one_in(4)) word = random.pick(material.tokens);
  if (is_number(old)) word = std::to_string(random.below(random.one_in(4) ? 100 : 5));
  if (old.empty()) return;
  std::string renamed;
  for (std::size_t at = 0; at < text.size();) {
    Range r = word_at(text, at);
    renamed += r.size == 0 ? text.substr(at, 1) : slice(text, r) == old ? word : slice(text, r);
    at += std::max<std::size_t>(r.size, 1);
  }
  text = std::move(renamed);
}

/// A copy of a line whose first word is new, at its place or elsewhere.
void copy_line(std::string& text, const Material&, Random& random) {
  Range r = some_line(text, random);
  std::string line(slice(text, r));
  std::size_t start = 0;
  while (start < line.size() && !is_word(line[start])) ++start;
  line.insert(word_at(line, start).end(), "_" + std::to_string(random.below(1000)));
  text.insert(random.one_in(2) ? r.end() : some_line(text, random).at, line);
}

void erase_brackets(std::string& text, const Material&, Random& random) {
  Range r = some_brackets(text, random);
  text.erase(r.at, r.size);
}

void replace_brackets(std::string& text, const Material& material, Random& random) {
  const std::string& other = random.one_in(2) ? text : random.pick(material.texts);
  Range r = some_brackets(text, random);
  std::string piece(slice(other, some_brackets(other, random)));
  if (r.size > 0 && !piece.empty() && piece[0] == text[r.at]) text.replace(r.at, r.size, piece);
}

/// Puts a copy of the lines that a bracket spans behind an opening bracket, often its own: nests.
void nest(std::string& text, const Material&, Random& random) {
  Range inner = some_brackets(text, random);
  if (random.one_in(2)) {
    std::size_t start = text.rfind('\n', inner.at);
    start = start == text.npos ? 0 : start + 1;
    inner = {start, inner.end() - start};
  }
  std::string piece(slice(text, inner));
  Range outer = random.one_in(2) ? inner : some_brackets(text, random);
  std::size_t open = text.find_first_of("([{", outer.at);
  text.insert(open == text.npos ? 0 : open + 1, piece);
}

void open_brackets(std::string& text, const Material&, Random& random) {
  static constexpr std::string_view open = "([{", close = ")]}";
  std::size_t kind = random.below(3), depth = 1 + random.below(random.one_in(8) ? 2000 : 3);
  Range r = some_bytes(text, random);
  if (random.one_in(2)) text.insert(r.end(), depth, close[kind]);
  text.insert(r.at, depth, open[kind]);
}

/// A list in brackets gets one more, or fewer, of what stands between its commas.
void edit_list(std::string& text, const Material&, Random& random) {
  Range r = some_brackets(text, random);
  if (r.size < 2) return;
  std::size_t from = r.at + 1 + random.below(r.size - 1);
  std::size_t comma = std::min(text.find(',', from), r.end() - 1);
  if (random.one_in(2))
    text.erase(from, comma - from);
  else
    text.insert(comma, "," + text.substr(r.at + 1, comma - r.at - 1));
}

// Edits that keep much of the meaning stand twice: they lead deepest.
constexpr Edit edits[] = {change_byte,  erase_bytes, cut_off,        copy_bytes,
                          repeat,       splice,      insert_token,   add_line_of_another,
                          erase_word,   erase_line,  erase_brackets, open_brackets,
                          edit_list,    nest,        swap_words,     replace_number,
                          replace_word, move_line,   copy_line,      replace_brackets,
                          rename,       swap_words,  replace_number, replace_word,
                          move_line,    copy_line,   rename,         replace_brackets};

}  // namespace

void mutate(std::string& text, const Material& material, Random& random) {
  // Few edits keep an input near something valid, many leave the beaten track.
  std::size_t times = random.one_in(2) ? 1 : 1 + random.below(random.one_in(4) ? 8 : 3);
  for (std::size_t i = 0; i < times; ++i) random.pick(edits)(text, material, random);
}

}  // namespace hocket::fuzz
