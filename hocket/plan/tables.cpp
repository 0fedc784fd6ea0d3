#include "hocket/plan/tables.h"

#include "hocket/base/hash.h"

namespace hocket {
namespace {

template <class T>
std::uint32_t intern(std::vector<T>& all,
                     std::unordered_multimap<std::uint64_t, std::uint32_t>& known,
                     std::uint64_t hash, const T& wanted) {
  auto [from, to] = known.equal_range(hash);
  for (auto it = from; it != to; ++it)
    if (all[it->second] == wanted) return it->second;
  auto index = static_cast<std::uint32_t>(all.size());
  all.push_back(wanted);
  known.emplace(hash, index);
  return index;
}

}  // namespace

std::uint32_t Tables::type(const Type& given) {
  Type type = given.ready();
  auto hash = static_cast<std::uint64_t>(type.dtype);
  for (std::int64_t d : type.shape) hash = mixed(hash ^ static_cast<std::uint64_t>(d));
  return intern(plan_.types, types_, hash, type);
}

std::uint32_t Tables::layout(const Layout& layout) {
  std::uint64_t hash = 0;
  for (Layout::Axis a : layout.axes())
    hash = mixed(mixed(hash ^ static_cast<std::uint64_t>(a.size)) ^
                 static_cast<std::uint64_t>(a.stride));
  return intern(plan_.layouts, layouts_, hash, layout);
}

std::uint32_t Tables::reason(std::string_view text) {
  std::uint32_t index = reasons_.add(text);
  if (index == plan_.reasons.size()) plan_.reasons.emplace_back(text);
  return index;
}

std::uint32_t Labels::add(TraceLabel label) {
  // Names and ops are words, so the first two zeros separate the parts.
  key_ = label.name;
  key_ += '\0';
  key_ += label.op;
  key_ += '\0';
  key_ += label.path;
  std::uint32_t index = known_.add(key_);
  if (index == graph_.labels.size()) graph_.labels.push_back(std::move(label));
  return index;
}

}  // namespace hocket
