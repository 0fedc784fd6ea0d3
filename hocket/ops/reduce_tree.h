#pragma once
// Reductions in a tree that depends only on the number of elements: halves down to runs of eight,
// and these from the first element to the last. So the error of a sum grows with the logarithm of
// the length, and the bits do not depend on where the elements lie.

#include <type_traits>

#include "hocket/base/element.h"
#include "hocket/ops/groups.h"

namespace hocket::ops {

inline constexpr std::int64_t longest_run = 8;

template <class Sum, class T, class Combine>
Sum reduce_run(const T* first, std::int64_t stride, std::int64_t count, Combine combine) {
  auto total = static_cast<Sum>(load(*first));
  for (std::int64_t i = 1; i < count; ++i)
    total = combine(total, static_cast<Sum>(load(first[i * stride])));
  return total;
}

/// A group whose elements are `stride` apart.
template <class Sum, class T, class Combine>
Sum reduce_one(const T* first, std::int64_t stride, std::int64_t count, Combine combine) {
  if (count <= longest_run) return reduce_run<Sum>(first, stride, count, combine);
  std::int64_t half = count / 2;
  Sum left = reduce_one<Sum>(first, stride, half, combine);
  return combine(left, reduce_one<Sum>(first + half * stride, stride, count - half, combine));
}

/// A group whose elements lie anywhere.
template <class Sum, class T, class Combine>
Sum reduce_one(const T* base, GroupCursor& cursor, std::int64_t count, Combine combine) {
  if (count > longest_run) {
    Sum left = reduce_one<Sum>(base, cursor, count / 2, combine);
    return combine(left, reduce_one<Sum>(base, cursor, count - count / 2, combine));
  }
  if (count <= cursor.left()) {
    Sum total = reduce_run<Sum>(base + cursor.at(), cursor.stride(), count, combine);
    cursor.advance(count);
    return total;
  }
  std::int64_t places[longest_run] = {};
  cursor.next(places, count);
  auto total = static_cast<Sum>(load(base[places[0]]));
  for (std::int64_t i = 1; i < count; ++i)
    total = combine(total, static_cast<Sum>(load(base[places[i]])));
  return total;
}

/// The most groups that are reduced side by side.
inline constexpr std::int64_t most_beside = 128;

/// Groups whose elements lie side by side: element i of group g at `places[i] + g`.
template <int groups, class Sum, class T, class Combine>
void reduce_runs(const T* base, const std::int64_t* places, std::int64_t count, Sum* totals,
                 Combine combine) {
  Sum total[groups];
  for (int g = 0; g < groups; ++g) total[g] = static_cast<Sum>(load(base[places[0] + g]));
  for (std::int64_t i = 1; i < count; ++i) {
    const T* element = base + places[i];
    for (int g = 0; g < groups; ++g)
      total[g] = combine(total[g], static_cast<Sum>(load(element[g])));
  }
  for (int g = 0; g < groups; ++g) totals[g] = total[g];
}

template <class Sum, class T, class Combine>
void reduce_beside(const T* base, GroupCursor& cursor, std::int64_t count, std::int64_t groups,
                   Sum* totals, Combine combine) {
  if (count > longest_run) {
    Sum second[most_beside];
    reduce_beside(base, cursor, count / 2, groups, totals, combine);
    reduce_beside(base, cursor, count - count / 2, groups, second, combine);
    for (std::int64_t g = 0; g < groups; ++g) totals[g] = combine(totals[g], second[g]);
    return;
  }
  std::int64_t places[longest_run];
  cursor.next(places, count);
  std::int64_t g = 0;
  for (; g + 16 <= groups; g += 16) reduce_runs<16>(base + g, places, count, totals + g, combine);
  for (; g + 4 <= groups; g += 4) reduce_runs<4>(base + g, places, count, totals + g, combine);
  for (; g < groups; ++g) reduce_runs<1>(base + g, places, count, totals + g, combine);
}

template <class T>
bool has_nan(const T* values, std::int64_t count) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= is_nan(load(values[i])) ? 1 : 0;
  return found != 0;
}

/// Two ways to combine two elements. `exactly` fixes every bit. `quickly` gives the same but where
/// there is a NaN, and then a NaN if `shows_nan`.
template <class Exactly, class Quickly>
struct Combination {
  Exactly exactly;
  Quickly quickly;
  bool shows_nan;
};
template <class Exactly, class Quickly>
Combination(Exactly, Quickly, bool) -> Combination<Exactly, Quickly>;

/// Reduces every group of x, which has elements, and stores the result of `finish`.
template <class T, class Exactly, class Quickly, class Finish>
void reduce_groups(const ConstView& x, Groups groups, T* out, Combination<Exactly, Quickly> by,
                   Finish finish) {
  using Sum = Accumulate<T>;
  constexpr bool floats = std::is_floating_point_v<Sum>;
  std::int64_t count = groups.gone.elements();
  GroupCursor cursor(groups.gone);
  // Kept elements that are neighbours are reduced side by side.
  auto kept = groups.kept.axes();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].strides[0] != 1) continue;
    auto beside = groups.kept.take(i);
    groups.kept.for_each([&](auto at) {
      Sum totals[most_beside];
      for (std::int64_t g = 0; g < beside.size; g += most_beside) {
        std::int64_t now = std::min(most_beside, beside.size - g);
        const T* base = x.as<T>() + at[0] + g;
        bool again = floats && !by.shows_nan;
        if (!again) {
          reduce_beside(base, cursor, count, now, totals, by.quickly);
          again = floats && has_nan(totals, now);
        }
        if (again) reduce_beside(base, cursor, count, now, totals, by.exactly);
        for (std::int64_t k = 0; k < now; ++k)
          out[at[1] + (g + k) * beside.strides[1]] = store<T>(finish(totals[k]));
      }
    });
    return;
  }
  auto gone = groups.gone.axes();
  std::int64_t stride = gone.empty() ? 0 : gone[0].strides[0];
  bool in_order = gone.size() == 1 && stride == 1;
  auto each = [&](auto reduced) {
    groups.kept.for_each([&](auto at) {
      const T* first = x.as<T>() + at[0];
      bool again = floats && !by.shows_nan && !(in_order && !has_nan(first, count));
      Sum total{};
      if (!again) {
        total = reduced(first, by.quickly);
        again = floats && is_nan(total);
      }
      if (again) total = reduced(first, by.exactly);
      out[at[1]] = store<T>(finish(total));
    });
  };
  if (in_order)
    each([=](const T* first, auto with) { return reduce_one<Sum>(first, 1, count, with); });
  else if (gone.size() < 2)
    each([=](const T* first, auto with) { return reduce_one<Sum>(first, stride, count, with); });
  else
    each([&](const T* first, auto with) { return reduce_one<Sum>(first, cursor, count, with); });
}

}  // namespace hocket::ops
