#include "hocket/ops/call_key.h"

#include <bit>
#include <cstring>

#include "hocket/ops/kernel.h"

namespace hocket {
namespace {

class KeyWriter {
 public:
  explicit KeyWriter(CallKey& key) : key_(key) {}

  template <std::integral T>
  void add(T v) {
    key_.push_back(static_cast<std::int64_t>(v));
  }
  void add(double v) { key_.push_back(std::bit_cast<std::int64_t>(v)); }
  void add(DType v) { key_.push_back(static_cast<std::int64_t>(v)); }
  void add(const Type& t) {
    add(t.dtype);
    add(t.pending);
    list(t.shape);
  }
  void add(const std::string& s) {
    add(s.size());
    std::size_t begin = key_.size();
    key_.resize(begin + (s.size() + sizeof(std::int64_t) - 1) / sizeof(std::int64_t));
    std::memcpy(key_.data() + begin, s.data(), s.size());
  }
  template <class List>
  void list(const List& items) {
    add(items.size());
    for (const auto& item : items) add(item);
  }
  void add(const Attribute& a) {
    add(a.index());
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::string> || !requires { v.size(); })
            add(v);
          else
            list(v);
        },
        a);
  }

 private:
  CallKey& key_;
};

}  // namespace

void write_key(CallKey& key, const KernelSpec& spec) {
  key.clear();
  key.push_back(reinterpret_cast<std::intptr_t>(&spec.op));
  KeyWriter to(key);
  for (const Attribute& a : spec.attributes.values()) to.add(a);
  to.list(spec.attributes.list_sizes());
  if (spec.op.depends_on_rank) {
    PlaceInGroup place = place_in_group(spec.op, spec.attributes, spec.world, spec.rank);
    to.add(place.index);
    to.add(place.size);
  }
  to.list(spec.operands);
  to.list(spec.results);
}

}  // namespace hocket
