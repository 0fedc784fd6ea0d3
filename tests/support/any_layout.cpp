#include "support/any_layout.h"

#include <algorithm>
#include <cstring>

#include "hocket/base/error.h"

namespace hocket::testing {
namespace {

constexpr std::byte untouched{0xa5};
constexpr std::int64_t margin = 64;  // bytes around a value

std::int64_t divisor_of(Random& random, std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n && d <= 64; ++d)
    if (n % d == 0) all.push_back(d);
  return all[below(random, all.size())];
}

void split(Random& random, std::int64_t size, std::vector<Layout::Axis>& axes) {
  std::int64_t inner = chance(random, 50) ? 1 : divisor_of(random, size);
  axes.push_back({size / inner, 0});
  axes.push_back({inner, 0});
}

}  // namespace

std::vector<std::int64_t> places_of(const Layout& layout) {
  std::vector<std::int64_t> places{0};
  for (Layout::Axis a : layout.axes()) {
    std::vector<std::int64_t> next;
    for (std::int64_t p : places)
      for (std::int64_t i = 0; i < a.size; ++i) next.push_back(p + i * a.stride);
    places = std::move(next);
  }
  return places;
}

Layout random_layout(Random& random, const Shape& shape, bool dense) {
  std::int64_t elements = 1;
  for (std::int64_t d : shape) elements *= d;
  if (elements == 0 || chance(random, 20)) return Layout::row_major(elements);
  std::vector<Layout::Axis> axes;
  if (chance(random, 10)) {  // cut anywhere
    for (std::int64_t left = elements; left > 1;) {
      std::int64_t size = divisor_of(random, left);
      if (size == 1) size = left;
      axes.push_back({size, 0});
      left /= size;
    }
  } else {
    for (std::int64_t d : shape) split(random, d, axes);
  }
  std::vector<std::size_t> order(axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t stride = 1;
  for (std::size_t i : order) {
    if (!dense && chance(random, 15)) stride *= 2;
    axes[i].stride = stride;
    stride *= axes[i].size;
    if (!dense && chance(random, 15)) axes[i].stride = -axes[i].stride;
  }
  return Layout(axes);
}

PlacedValue::PlacedValue(const Type& type, Layout layout)
    : type_(type), layout_(std::move(layout)), places_(places_of(layout_)) {
  auto [low, high] = layout_.bounds();
  low_ = low;
  bytes_ = Tensor(Type{DType::u8, false, {(high - low + 1) * bytes(type.dtype) + 2 * margin}});
  std::ranges::fill(bytes_.bytes(), untouched);
}

PlacedValue::PlacedValue(const Tensor& row_major, Layout layout)
    : PlacedValue(row_major.type(), std::move(layout)) {
  std::int64_t width = bytes(type_.dtype);
  for (std::size_t i = 0; i < places_.size(); ++i)
    std::memcpy(view().data + places_[i] * width,
                row_major.bytes().data() + static_cast<std::int64_t>(i) * width,
                static_cast<std::size_t>(width));
}

View PlacedValue::view() {
  return {type_, layout_, bytes_.bytes().data() + margin - low_ * bytes(type_.dtype)};
}

Tensor PlacedValue::row_major() {
  Tensor t(type_);
  std::int64_t width = bytes(type_.dtype);
  for (std::size_t i = 0; i < places_.size(); ++i)
    std::memcpy(t.bytes().data() + static_cast<std::int64_t>(i) * width,
                view().data + places_[i] * width, static_cast<std::size_t>(width));
  return t;
}

bool PlacedValue::intact() const {
  auto all = bytes_.bytes();
  auto is = [](std::byte b) { return b == untouched; };
  return std::ranges::all_of(all.first(margin), is) && std::ranges::all_of(all.last(margin), is);
}

/// A kernel that is given row-major values and copies them.
class AnyLayout::Moved final : public Kernel {
 public:
  Moved(AnyLayout& of, const KernelSpec& spec)
      : of_(of), op_(spec.op), inner_(prepare_reference(spec)) {
    for (const Port& p : inner_->operands) operands.push_back({p.layout});
    for (const Port& p : inner_->results) results.push_back({p.layout});
    may_overwrite.resize(results.size());
    workspace_bytes = inner_->workspace_bytes;
    if (workspace_bytes != rounded(workspace_bytes))
      internal_fail("{}: workspace of {} bytes", op_.name, workspace_bytes);
    for (const Type& t : spec.operands)
      from_.push_back(layout(t, inner_->operands[from_.size()], false));
    for (const Type& t : spec.results) to_.push_back(layout(t, inner_->results[to_.size()], true));
  }

  std::unique_ptr<BoundKernel> bind(std::span<const ConstView> from, std::span<const View> to,
                                    std::span<std::byte> workspace) const override {
    return std::make_unique<Bound>(*this, from, to, workspace);
  }

 private:
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

  Layout layout(const Type& type, const Port& port, bool dense) {
    if (!port.any || of_.only_row_major_) return Layout::row_major(type.elements());
    Layout l = random_layout(of_.random_, type.shape, dense);
    of_.moved += l.is_row_major() ? 0 : 1;
    return l;
  }

  struct Bound final : BoundKernel {
    Bound(const Moved& by, std::span<const ConstView> in, std::span<const View> out,
          std::span<std::byte> workspace)
        : of(by), results(out.begin(), out.end()) {
      std::vector<ConstView> reads;
      std::vector<View> writes;
      for (std::size_t i = 0; i < in.size(); ++i) {
        Tensor t(in[i].type);
        std::ranges::copy(in[i].bytes(), t.bytes().begin());
        from.emplace_back(t, of.from_[i]);
      }
      for (std::size_t i = 0; i < out.size(); ++i) to.emplace_back(out[i].type, of.to_[i]);
      for (PlacedValue& v : from) reads.push_back(v.read());
      for (PlacedValue& v : to) writes.push_back(v.view());
      std::ranges::fill(workspace, untouched);
      inner = of.inner_->bind(reads, writes, workspace);
    }

    void run() override {
      for (int i = 0; i < 2; ++i) {  // what the first run leaves behind must not matter
        if (of.of_.run_)
          of.of_.run_(of.op_, *inner);
        else
          inner->run();
      }
      for (const PlacedValue& v : to)
        if (!v.intact()) internal_fail("{}: writes beside its result", of.op_.name);
      for (std::size_t i = 0; i < results.size(); ++i)
        std::ranges::copy(to[i].row_major().bytes(), results[i].data);
    }

    const Moved& of;
    std::vector<View> results;
    std::vector<PlacedValue> from, to;
    std::unique_ptr<BoundKernel> inner;
  };

  AnyLayout& of_;
  const Op& op_;
  std::shared_ptr<const Kernel> inner_;
  std::vector<Layout> from_, to_;
};

AnyLayout::AnyLayout(std::uint64_t seed, bool only_row_major,
                     std::function<void(const Op&, BoundKernel&)> run)
    : random_(seed), only_row_major_(only_row_major), run_(std::move(run)) {}

std::shared_ptr<const Kernel> AnyLayout::prepare(const KernelSpec& spec) {
  if (spec.op.expand != nullptr || spec.op.has_region) return nullptr;
  return std::make_shared<Moved>(*this, spec);
}

}  // namespace hocket::testing
