#include "hocket/check/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hocket/base/element.h"
#include "hocket/base/error.h"
#include "hocket/ir/tensor.h"
#include "hocket/ir/world.h"
#include "hocket/ops/kernel.h"

namespace hocket::check {
namespace {

constexpr std::size_t words_of_piece = 4;

void add_piece(std::vector<std::uint64_t>& words, const Piece& p) {
  words.push_back((std::uint64_t{p.term} << 32) | p.offset);
  words.push_back(static_cast<std::uint64_t>(p.first));
  words.push_back(static_cast<std::uint64_t>(p.count));
  words.push_back(p.repeated ? 1 : 0);
}

Piece piece_at(std::span<const std::uint64_t> words) {
  return {static_cast<TermId>(words[0] >> 32), static_cast<Offset>(words[0]),
          static_cast<std::int64_t>(words[1]), static_cast<std::int64_t>(words[2]), words[3] != 0};
}

/// Terms whose pieces stand behind three other words, and are counted from a base.
bool is_by_elements(TermKind kind) {
  return kind == TermKind::elementwise || kind == TermKind::reduced || kind == TermKind::moved;
}

/// How many words of a term stand in front of its pieces; none for other terms.
std::optional<std::size_t> words_before_pieces(TermKind kind) {
  if (is_by_elements(kind)) return 3;
  if (kind == TermKind::pack) return 0;
  if (kind == TermKind::kernel || kind == TermKind::exchanged) return 4;
  return std::nullopt;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

// ---- pieces

Elements Values::whole(TermId term, std::int64_t count) {
  Elements x;
  append(x, {term, 0, 0, count, false});
  return x;
}

Elements Values::constant(DType dtype, std::span<const std::byte> bits, std::int64_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, bits.data(), std::min(bits.size(), sizeof word));
  std::uint64_t words[] = {static_cast<std::uint64_t>(dtype), word};
  Elements x;
  append(x, {terms.intern(TermKind::constant, words, {.single = true}), 0, 0, count, true});
  return x;
}

void Values::append(Elements& to, const Piece& given) {
  if (given.count == 0) return;
  Piece p = given;
  const TermFacts& facts = terms.facts(p.term);
  if (facts.single) p = {p.term, 0, 0, p.count, true};
  if (facts.packed && p.offset == 0) {
    Elements parts = resolved(p);
    if (parts.size() != 1 || parts[0] != p) return append(to, parts);
  }
  if (!to.empty()) {
    Piece& last = to.back();
    bool same = last.term == p.term && last.offset == p.offset && last.repeated == p.repeated;
    if (same && p.first == last.first + (p.repeated ? 0 : last.count)) {
      last.count += p.count;
      return;
    }
  }
  to.push_back(p);
}

Piece Values::cut(const Piece& p, std::int64_t first, std::int64_t count) {
  Piece out = p;
  if (!p.repeated) out.first += first;
  out.count = count;
  if (count < p.count && !p.repeated && terms.kind(p.term) == TermKind::view) note_alias(out);
  return out;
}

Elements Values::range(const Elements& x, std::int64_t first, std::int64_t count) {
  Elements out;
  for (const Piece& p : x) {
    if (count == 0) break;
    if (first >= p.count) {
      first -= p.count;
      continue;
    }
    std::int64_t here = std::min(count, p.count - first);
    append(out, cut(p, first, here));
    first = 0;
    count -= here;
  }
  if (count > 0) internal_fail("check: a range outside of a value");
  return out;
}

Elements Values::shifted(const Elements& x, std::int64_t first, Offset offset, std::int64_t count) {
  if (offset == 0) return range(x, first, count);
  Elements out;
  if (count == 0) return out;
  Piece p = x.size() == 1 ? x[0] : packed(x);
  p.count = count;
  if (!p.repeated) {
    p.first += first;
    p.offset = ranks.sum(p.offset, offset);
  }
  append(out, p);
  return out;
}

Elements Values::repeated(const Elements& x, std::int64_t count) {
  Elements out;
  Piece p = x[0];
  p.count = count;
  p.repeated = true;
  append(out, p);
  return out;
}

Piece Values::packed(const Elements& x) {
  if (x.size() == 1 && !terms.facts(x[0].term).packed) return x[0];
  words_.clear();
  add_words(words_, x);
  TermFacts facts = facts_of(x);
  facts.packed = true;
  facts.single = false;
  std::int64_t count = elements_in(x);
  return {terms.intern(TermKind::pack, words_, facts), 0, 0, count, false};
}

/// The same elements without packs.
Elements Values::resolved(const Piece& p) {
  std::vector<Piece> operands = operands_of(p.term);
  auto words = terms.words(p.term);
  TermKind kind = terms.kind(p.term);
  if (kind == TermKind::pack) {
    Elements all, out;
    for (const Piece& o : operands) all.push_back(o);
    if (p.repeated) return repeated(range(all, p.first, 1), p.count);
    return range(all, p.first, p.count);
  }
  Head head{words[0], words[1], words[2]};
  std::vector<Elements> parts;
  bool further = false;
  for (Piece o : operands) {
    o.count = p.count;
    if (!o.repeated) o.first += p.first;
    if (p.repeated) o.repeated = true;
    Elements part;
    append(part, o);
    further |= part.size() != 1 || part[0] != o;
    parts.push_back(std::move(part));
  }
  Elements out;
  if (!further) {  // an offset within: as it is
    out.push_back(p);
    return out;
  }
  std::vector<const Elements*> list;
  for (const Elements& e : parts) list.push_back(&e);
  return by_elements(kind, head, list, p.count);
}

// ---- views

/// Element i of a view is at the place of its digits: the outermost digit is unbounded.
struct Values::Order {
  Piece base;                         ///< at place 0
  SmallVector<Layout::Axis, 4> axes;  ///< outermost first; the size of the first one says nothing
};

Values::Order Values::order_of(TermId view) const {
  auto words = terms.words(view);
  Order order{piece_at(words), {}};
  for (std::size_t i = words_of_piece; i < words.size(); i += 2)
    order.axes.push_back(
        {static_cast<std::int64_t>(words[i]), static_cast<std::int64_t>(words[i + 1])});
  return order;
}

/// A view of an unordered piece, which begins at the piece's first element. A view that begins
/// further on along its outermost axis is a range of the same term.
Piece Values::ordered(const Piece& p, const Layout& layout, bool doubtful) {
  auto axes = layout.axes();
  std::int64_t inner = 1;
  for (std::size_t i = 1; i < axes.size(); ++i) inner *= axes[i].size;
  std::int64_t stride = axes[0].stride, steps = 0;
  Piece base = p;
  base.count = 0;
  base.repeated = false;
  if (stride != 0) {
    std::int64_t apart = std::abs(stride), rest = p.first - floor_div(p.first, apart) * apart;
    steps = (p.first - rest) / stride;
    base.first = rest;
  }
  words_.clear();
  add_piece(words_, base);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    words_.push_back(i == 0 ? 0 : static_cast<std::uint64_t>(axes[i].size));
    words_.push_back(static_cast<std::uint64_t>(axes[i].stride));
  }
  TermFacts facts = facts_of(base);
  facts.single = facts.packed = false;
  facts.doubtful |= doubtful;
  return {terms.intern(TermKind::view, words_, facts), 0, steps * inner, layout.elements(), false};
}

Elements Values::direct(const Elements& x) {
  Elements out;
  for (const Piece& p : x) {
    bool part = terms.kind(p.term) == TermKind::view && p.offset == 0 && !p.repeated;
    auto found = part ? through(p, 0, Layout::row_major(p.count)) : std::nullopt;
    if (!found)
      append(out, p);
    else if (found->second.is_row_major())
      append(out, found->first);
    else
      append(out, ordered(found->first, found->second, false));
  }
  return out;
}

bool Values::is_odd_part(const Piece& p) const {
  return terms.kind(p.term) == TermKind::view && !p.repeated &&
         !through(p, 0, Layout::row_major(p.count));
}

Piece Values::alias_of(const Piece& p) const {
  auto alias = aliases_.find({p.term, p.first, p.count});
  return alias == aliases_.end() ? p : alias->second;
}

/// A part of a view may be a view by itself, of fewer axes. Whoever makes that gets this, so that
/// the parts of an elementwise result are one result.
void Values::note_alias(const Piece& p) {
  auto direct = through(p, 0, Layout::row_major(p.count));
  if (!direct || direct->second.is_row_major()) return;
  Piece other = ordered(direct->first, direct->second, false);
  if (other.term != p.term) aliases_.try_emplace({other.term, other.first, other.count}, p);
}

/// The place in what a view shows, and the layout there, of a view of it. None where an element
/// would be found by carrying from one digit to the next.
std::optional<std::pair<Piece, Layout>> Values::through(const Piece& p, std::int64_t first,
                                                        const Layout& layout) const {
  Order order = order_of(p.term);
  std::size_t n = order.axes.size();
  SmallVector<std::int64_t, 4> weight(static_cast<std::uint32_t>(n), 1), used = weight;
  for (std::size_t k = n - 1; k > 0; --k) weight[k - 1] = weight[k] * order.axes[k].size;
  std::int64_t index = p.first + first;
  for (Layout::Axis a : layout.axes())
    if (a.stride < 0) index += (a.size - 1) * a.stride;
  std::int64_t place = 0;
  for (std::size_t k = 0; k < n; ++k) {
    used[k] = floor_div(index, weight[k]);  // the first one may be negative
    index -= used[k] * weight[k];
    place += used[k] * order.axes[k].stride;
  }
  std::vector<Layout::Axis> axes;
  for (Layout::Axis a : layout.axes()) {
    if (a.stride == 0) {
      axes.push_back(a);
      continue;
    }
    std::int64_t step = std::abs(a.stride), left = a.size;
    std::size_t at = axes.size();
    while (left > 1) {
      std::size_t k = 0;
      while (weight[k] > step) ++k;
      if (step % weight[k] != 0) return std::nullopt;
      std::int64_t unit = step / weight[k], size = order.axes[k].size, here = left;
      if (k > 0 && used[k] + unit * (left - 1) >= size) {
        // Goes round the digit: all of it, and the next digit counts the rounds.
        if (size % unit != 0 || used[k] >= unit || left % (size / unit) != 0) return std::nullopt;
        here = size / unit;
        if (here == 1) return std::nullopt;
      }
      used[k] += unit * (here - 1);
      std::int64_t stride = unit * order.axes[k].stride;
      if (a.stride < 0) {
        place += stride * (here - 1);
        stride = -stride;
      }
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(at), {here, stride});
      left /= here;
      step *= here;
    }
  }
  Piece base = order.base;
  base.first += place;
  base.count = layout.elements();
  return std::pair{base, Layout(axes)};
}

Elements Values::view_of_piece(const Piece& p, std::int64_t first, const Layout& layout) {
  std::int64_t count = layout.elements();
  Elements out;
  if (p.repeated) {
    append(out, cut(p, 0, count));
    return out;
  }
  if (layout.is_row_major()) {
    append(out, cut(p, first, count));
    return out;
  }
  if (std::ranges::all_of(layout.axes(), [](Layout::Axis a) { return a.stride == 0; })) {
    append(out, {p.term, p.offset, p.first + first, count, true});
    return out;
  }
  bool of_view = terms.kind(p.term) == TermKind::view;
  if (of_view && p.offset == 0) {
    if (auto direct = through(p, first, layout))
      return view_of_piece(direct->first, 0, direct->second);
  }
  Piece base = p;
  base.first += first;
  append(out, alias_of(ordered(base, layout, of_view)));
  return out;
}

Elements Values::view(const Elements& x, std::int64_t first, const Layout& layout) {
  if (layout.elements() == 0) return {};
  if (layout.is_row_major()) return range(x, first, layout.elements());
  if (x.size() == 1) return view_of_piece(x[0], first, layout);
  auto [low, high] = layout.bounds();
  Elements touched = range(x, first + low, high - low + 1);
  if (touched.size() == 1) return view_of_piece(touched[0], -low, layout);
  constexpr std::int64_t most_parts = 64;
  auto axes = layout.axes();
  if (axes[0].size <= most_parts && (axes.size() > 1 || layout.elements() <= most_parts)) {
    Layout inner(axes.subspan(1));
    Elements out;
    for (std::int64_t i = 0; i < axes[0].size; ++i)
      append(out, view(touched, axes[0].stride * i - low, inner));
    return out;
  }
  return view_of_piece(packed(touched), -low, layout);
}

// ---- element by element

Elements Values::by_elements(TermKind kind, const Head& head,
                             std::span<const Elements* const> operands, std::int64_t count) {
  struct Cursor {
    std::uint32_t piece = 0;
    std::int64_t at = 0;
  };
  SmallVector<Cursor, 4> places(static_cast<std::uint32_t>(operands.size()), Cursor{});
  SmallVector<Piece, 4> pieces(static_cast<std::uint32_t>(operands.size()), Piece{});
  Elements out;
  for (std::int64_t done = 0; done < count;) {
    std::int64_t here = count - done;
    for (std::size_t i = 0; i < operands.size(); ++i)
      here = std::min(here, (*operands[i])[places[i].piece].count - places[i].at);
    const Piece* base = nullptr;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      pieces[i] = (*operands[i])[places[i].piece];
      if (!pieces[i].repeated) pieces[i].first += places[i].at;
      places[i].at += here;
      if (places[i].at == (*operands[i])[places[i].piece].count)
        places[i] = {places[i].piece + 1, 0};
    }
    for (const Piece& p : pieces)
      if (base == nullptr && !p.repeated) base = &p;
    Piece result{0, 0, 0, here, base == nullptr};
    if (base != nullptr) result = {0, base->offset, base->first, here, false};
    result.term = element_term(kind, head, {pieces.data(), pieces.size()}, base);
    append(out, result);
    done += here;
  }
  return out;
}

TermId Values::element_term(TermKind kind, const Head& head, std::span<const Piece> pieces,
                            const Piece* base) {
  words_.assign(head.begin(), head.end());
  TermFacts facts;
  std::int64_t from = base == nullptr ? 0 : base->first;
  Offset offset = base == nullptr ? 0 : base->offset;
  for (const Piece& p : pieces) {
    Piece relative = p;
    relative.count = 0;
    if (!p.repeated) {
      relative.first -= from;
      relative.offset = ranks.difference(p.offset, offset);
    }
    add_piece(words_, relative);
    facts = joined(ranks, facts, facts_of(relative));
  }
  facts.single = base == nullptr;
  if (kind == TermKind::reduced)
    facts.equal_on = static_cast<std::int64_t>(head[2]) == everywhere
                         ? reduced(static_cast<std::uint32_t>(head[0]), facts.equal_on)
                         : ranks.each(groups[head[0]].ranks());
  if (kind == TermKind::moved)
    facts.equal_on = moved(static_cast<std::uint32_t>(head[0]), head[1], facts.equal_on);
  TermId made = terms.intern(kind, words_, facts);
  return kind == TermKind::elementwise ? folded(head, made, pieces) : made;
}

/// The constant that an op of constants gives, where every bit of it is determined.
TermId Values::folded(const Head& head, TermId made, std::span<const Piece> pieces) {
  const Op& op = *reinterpret_cast<const Op*>(head[0]);
  if (!op.exactly_rounded ||
      !std::ranges::all_of(pieces, [&](const Piece& p) { return is_constant(p); }))
    return made;
  auto [known, fresh] = folded_.try_emplace(made, made);
  if (!fresh) return known->second;
  std::vector<Tensor> operands;
  for (const Piece& p : pieces) {
    auto words = terms.words(p.term);
    Tensor& t = operands.emplace_back(Type{static_cast<DType>(words[0]), false, {}});
    std::memcpy(t.bytes().data(), &words[1], t.bytes().size());
  }
  Type type{static_cast<DType>(head[2]), false, {}};
  Tensor result = run_reference(op, attributes(static_cast<std::uint32_t>(head[1])), operands,
                                {&type, 1}, World{})
                      .front();
  bool is_nan = visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto x = load(result.as<T>()[0]);
    return x != x;
  });
  if (is_nan) return made;
  TermId value = constant(type.dtype, result.bytes(), 1)[0].term;
  folded_[made] = value;
  return value;
}

Elements Values::elementwise(const Op& op, std::uint32_t number, DType dtype,
                             std::span<const Elements* const> operands, std::int64_t count) {
  return by_elements(
      TermKind::elementwise,
      {reinterpret_cast<std::uintptr_t>(&op), number, static_cast<std::uint64_t>(dtype)}, operands,
      count);
}

// ---- between ranks

Elements Values::reduced(std::uint32_t group, std::uint64_t reduction, std::int64_t root,
                         const Elements& given) {
  Elements x = fixed(group, given);
  const Elements* list[] = {&x};
  return by_elements(TermKind::reduced, {group, reduction, static_cast<std::uint64_t>(root)}, list,
                     elements_in(x));
}

Elements Values::moved(std::uint32_t group, std::size_t index, const Elements& given) {
  const Sets& sets = groups[group];
  Elements out;
  for (const Piece& p : given) {
    if (!equal_in(group, terms.facts(p.term).equal_on)) {
      Elements one;
      one.push_back(p);
      Elements x = fixed(group, one);
      const Elements* list[] = {&x};
      append(out, by_elements(TermKind::moved, {group, index, 0}, list, p.count));
      continue;
    }
    Piece there = p;
    if (p.offset != 0) {
      std::vector<std::int64_t> values(sets.ranks());
      for (std::size_t r = 0; r < values.size(); ++r)
        values[r] = ranks.at(p.offset, sets.member(r, index));
      auto [first, offset] = ranks.offset(std::move(values));
      there.first += first;
      there.offset = offset;
    }
    append(out, there);
  }
  return out;
}

/// The same value, without offsets that differ in a set.
Elements Values::fixed(std::uint32_t group, const Elements& x) {
  Elements out;
  for (const Piece& p : x) {
    if (equal_in(group, ranks.of(p.offset))) {
      out.push_back(p);
      continue;
    }
    words_.clear();
    add_piece(words_, p);
    TermFacts facts = facts_of(p);
    facts.single = facts.packed = false;
    facts.doubtful = true;
    out.push_back({terms.intern(TermKind::pack, words_, facts), 0, 0, p.count, false});
  }
  return out;
}

Partition Values::moved(std::uint32_t group, std::size_t index, Partition p) {
  if (p == 0) return 0;
  auto [it, fresh] = moved_.try_emplace({group, index, p});
  if (!fresh) return it->second;
  const Sets& sets = groups[group];
  std::vector<std::uint32_t> labels(sets.ranks());
  for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = ranks.label(p, sets.member(r, index));
  return it->second = ranks.partition(labels);
}

Partition Values::reduced(std::uint32_t group, Partition p) {
  if (p == 0) return 0;
  constexpr std::size_t all = SIZE_MAX;
  auto [it, fresh] = moved_.try_emplace({group, all, p});
  if (!fresh) return it->second;
  const Sets& sets = groups[group];
  std::map<std::vector<std::uint32_t>, std::uint32_t> names;
  std::vector<std::uint32_t> labels(sets.ranks());
  for (std::size_t r = 0; r < labels.size(); ++r) {
    std::vector<std::uint32_t> of_members(sets.size);
    for (std::size_t i = 0; i < sets.size; ++i) of_members[i] = ranks.label(p, sets.member(r, i));
    labels[r] = names.try_emplace(std::move(of_members), static_cast<std::uint32_t>(names.size()))
                    .first->second;
  }
  return it->second = ranks.partition(labels);
}

bool Values::equal_in(std::uint32_t group, Partition p) {
  if (p == 0) return true;
  const Sets& sets = groups[group];
  for (std::size_t r = 0; r < sets.ranks(); ++r)
    if (ranks.label(p, r) != ranks.label(p, sets.member(r, 0))) return false;
  return true;
}

Partition Values::one_per_set(std::uint32_t group) {
  const Sets& sets = groups[group];
  std::vector<std::uint32_t> labels;
  for (std::size_t r = 0; r < sets.ranks(); ++r) labels.push_back(sets.member(r, 0));
  return ranks.partition(labels);
}

bool Values::equal_in(std::uint32_t group, const Elements& x) {
  return std::ranges::all_of(x, [&](const Piece& p) {
    return equal_in(group, terms.facts(p.term).equal_on) && equal_in(group, ranks.of(p.offset));
  });
}

// ---- words

void Values::add_words(std::vector<std::uint64_t>& words, const Elements& x) {
  for (const Piece& p : x) add_piece(words, p);
}

TermFacts Values::joined(RankFunctions& ranks, TermFacts a, TermFacts b) {
  return {ranks.meet(a.equal_on, b.equal_on), false, a.packed || b.packed,
          a.doubtful || b.doubtful};
}

TermFacts Values::facts_of(const Piece& p) {
  TermFacts facts = terms.facts(p.term);
  facts.equal_on = ranks.meet(facts.equal_on, ranks.of(p.offset));
  return facts;
}

TermFacts Values::facts_of(const Elements& x) {
  TermFacts facts;
  for (const Piece& p : x) facts = joined(ranks, facts, facts_of(p));
  return facts;
}

std::vector<Piece> Values::operands_of(TermId t) const {
  std::vector<Piece> pieces;
  auto words = terms.words(t);
  if (terms.kind(t) == TermKind::view) return {piece_at(words)};
  std::optional<std::size_t> before = words_before_pieces(terms.kind(t));
  if (!before) return pieces;
  for (std::size_t i = *before; i + words_of_piece <= words.size(); i += words_of_piece)
    pieces.push_back(piece_at(words.subspan(i)));
  return pieces;
}

std::uint32_t Values::number_of(const Attributes& a) {
  const void* object = a.values().empty() ? nullptr : a.values().data();
  if (object != nullptr)
    if (auto known = attribute_objects_.find(object); known != attribute_objects_.end())
      return known->second;
  std::string text;
  for (const Attribute& v : a.values()) {
    text += fmt::format("{}:", v.index());
    hocket::append(text, v);
    text += ';';
  }
  for (std::uint32_t size : a.list_sizes()) text += fmt::format("{},", size);
  auto [it, fresh] =
      attribute_texts_.emplace(std::move(text), static_cast<std::uint32_t>(attributes_.size()));
  if (fresh) attributes_.push_back(&a);
  if (object != nullptr) attribute_objects_.emplace(object, it->second);
  return it->second;
}

}  // namespace hocket::check
