// The layouts in which the library backend takes and gives values, and the copies between them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hocket/base/dtype.h"
#include "hocket/codegen/copy.h"
#include "hocket/codegen/library/library.h"
#include "tests/threads/library_cases.h"

namespace hocket {
namespace {

/// A value between two kernels, in a layout that one of them chose.
struct Placed {
  Type type;
  Layout layout;
  Tensor bytes;

  explicit Placed(const Tensor& t)
      : type(t.type()), layout(Layout::row_major(type.elements())), bytes(t) {}
  Placed(const Type& t, Layout lies) : type(t), layout(std::move(lies)), bytes(t) {}
  ConstView read() const { return {type, layout, bytes.bytes().data()}; }
  View write() { return {type, layout, bytes.bytes().data()}; }
};

/// Runs kernels one after the other and copies only what does not lie as the next one wants it.
class Sequence {
 public:
  Placed run(const Case& c, const Placed& a, const Placed& b) {
    auto kernel = library_.prepare(c.spec());
    std::vector<Placed> operands{in(a, kernel->operands[0].layout),
                                 in(b, kernel->operands[1].layout)};
    Placed result(c.results[0], kernel->results[0].layout);
    std::vector<ConstView> from{operands[0].read(), operands[1].read()};
    std::vector<View> to{result.write()};
    Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
    kernel->bind(from, to, workspace.bytes())->run();
    return result;
  }
  Tensor row_major(const Placed& x) { return in(x, Layout::row_major(x.type.elements())).bytes; }
  bool has(const Case& c) { return library_.prepare(c.spec()) != nullptr; }
  int copies() const { return copies_; }

 private:
  Placed in(const Placed& x, const Layout& wanted) {
    if (x.layout == wanted) return x;
    ++copies_;
    Placed copy(x.type, wanted);
    ConstView from = x.read();
    View to = copy.write();
    library_.prepare_copy(x.type.dtype, x.layout, wanted)->bind({&from, 1}, {&to, 1}, {})->run();
    return copy;
  }

  Library library_;
  int copies_ = 0;
};

/// Two convolutions and their gradients. `again` is the second: a window of 3 that changes no size.
struct TwoConvolutions {
  std::vector<Case> first, second;  // forward, by input, by weight

  TwoConvolutions(const ConvWindow& w, const std::string& dtype) : first(cases_of(w, dtype)) {
    const Shape& y = first[0].results[0].shape;
    std::size_t spatial = w.size.size();
    ConvWindow again{y[0], 1, y[1], y[1], Ints(y.begin() + 2, y.end()), Ints(spatial, 3)};
    if (w.groups == w.in) again.groups = y[1];
    again.padding = Ints(spatial, 1);
    second = cases_of(again, dtype);
  }

  /// All results row-major. `between` is applied to what one convolution hands to the next.
  template <class Between>
  std::vector<Tensor> run(Sequence& by, Between between) const {
    Placed x(first[0].inputs[0]), w(first[0].inputs[1]), v(second[0].inputs[1]);
    Placed y = between(by.run(first[0], x, w));
    Placed z = between(by.run(second[0], y, v));
    Placed dy = between(by.run(second[1], z, v));  // z as its own gradient
    Placed dv = between(by.run(second[2], z, y)), dx = between(by.run(first[1], dy, w)),
           dw = between(by.run(first[2], dy, x));
    std::vector<Tensor> results;
    for (const Placed& p : {y, z, dy, dv, dx, dw}) results.push_back(by.row_major(p));
    return results;
  }
  bool all_in(Sequence& by) const {
    auto has = [&](const Case& c) { return by.has(c); };
    return std::ranges::all_of(first, has) && std::ranges::all_of(second, has);
  }
};

struct KeptWindow {
  ConvWindow window;
  bool blocked;  // channels fill blocks of 16
};

std::vector<KeptWindow> kept_windows() {
  return {{{2, 1, 3, 32, {15, 16}, {7, 7}, {2, 2}, {3, 3}}, true},
          {{2, 1, 32, 64, {8, 8}, {3, 3}, {}, {1, 1}}, true},
          {{2, 1, 32, 64, {8, 8}, {3, 3}, {2, 2}, {1, 1}}, true},
          {{2, 1, 64, 32, {8, 8}, {1, 1}, {2, 2}}, true},
          {{2, 1, 24, 40, {7, 7}, {1, 1}}, false},
          {{2, 32, 32, 32, {9, 9}, {3, 3}, {2, 2}, {1, 1}}, true},
          {{2, 24, 24, 24, {9, 9}, {3, 3}, {}, {1, 1}}, false},
          {{2, 2, 32, 64, {8, 8}, {3, 3}, {}, {1, 1}}, true},
          {{2, 1, 17, 33, {9, 12}, {3, 3}, {}, {1, 1}}, false},
          {{2, 1, 32, 32, {33}, {3}, {2}, {1}}, true},
          {{2, 1, 32, 16, {5, 6, 7}, {3, 3, 3}, {}, {1, 1, 1}}, true}};
}

TEST(LibraryLayout, LayoutsKeptBetweenConvolutionsGiveTheSameBits) {
  bool wide = Library().numerics().find("avx512_core") != std::string::npos;
  for (const std::string dtype : {"f32", "bf16"})
    for (const auto& [window, blocked] : kept_windows()) {
      TwoConvolutions pair(window, dtype);
      SCOPED_TRACE(pair.first[0].title());
      Sequence keeping, returning;
      if (!pair.all_in(keeping)) continue;
      auto kept = pair.run(keeping, [](const Placed& p) { return p; });
      auto returned =
          pair.run(returning, [&](const Placed& p) { return Placed(returning.row_major(p)); });
      for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_TRUE(same_bits(kept[i], returned[i])) << "result " << i;
      // x and both weights twice, and the six results at the end: nothing in between.
      if (wide && blocked) {
        EXPECT_LE(keeping.copies(), 2 + 4 + 6);
      }
      EXPECT_LE(keeping.copies(), returning.copies());
    }
}

/// Bytes at an offset from a cache line, with others around them that nobody may write.
class Guarded {
 public:
  Guarded(std::int64_t bytes, std::int64_t offset)
      : all_(Type{DType::u8, false, {bytes + 192}}),
        part_(all_.bytes().subspan(static_cast<std::size_t>(64 + offset),
                                   static_cast<std::size_t>(bytes))) {
    fill();
  }
  std::span<std::byte> bytes() { return part_; }
  /// Every element is a NaN then.
  void fill() { std::ranges::fill(all_.bytes(), std::byte{0xff}); }
  bool intact() const {
    return std::ranges::all_of(all_.bytes(), [&](const std::byte& b) {
      return b == std::byte{0xff} || (&b >= part_.data() && &b < part_.data() + part_.size());
    });
  }

 private:
  Tensor all_;
  std::span<std::byte> part_;
};

/// Copies without the library.
void copy_plainly(const ConstView& from, const View& to) {
  prepare_plain_copy(from.layout, to.layout)->bind({&from, 1}, {&to, 1}, {})->run();
}

/// Operands and result at an offset, the workspace overwritten before each of two runs.
void expect_same_anywhere(const Case& c, Library& library, std::int64_t offset) {
  auto kernel = library.prepare(c.spec());
  if (kernel == nullptr) return;
  Tensor expected = c.by(library), got(c.results[0]);
  Guarded a(c.operands[0].bytes(), offset), b(c.operands[1].bytes(), offset),
      result(c.results[0].bytes(), offset), workspace(kernel->workspace_bytes, 0);
  std::vector<View> operands{{c.operands[0], kernel->operands[0].layout, a.bytes().data()},
                             {c.operands[1], kernel->operands[1].layout, b.bytes().data()}};
  std::vector<ConstView> from;
  for (std::size_t i = 0; i < 2; ++i) {
    copy_plainly(view_of(c.inputs[i]), operands[i]);
    from.push_back({operands[i].type, operands[i].layout, operands[i].data});
  }
  View to{c.results[0], kernel->results[0].layout, result.bytes().data()};
  auto bound = kernel->bind(from, {&to, 1}, workspace.bytes());
  for (int i = 0; i < 2; ++i) {
    result.fill();
    workspace.fill();
    bound->run();
    copy_plainly({to.type, to.layout, to.data}, view_of(got));
    EXPECT_TRUE(same_bits(got, expected)) << "offset " << offset << ", run " << i;
    for (const Guarded* g : {&a, &b, &result, &workspace}) EXPECT_TRUE(g->intact());
  }
}

TEST(LibraryLayout, AddressesAndOldBytesOfTheWorkspaceDoNotMatter) {
  Library library;
  for (const std::string dtype : {"f32", "bf16"}) {
    std::vector<Case> cases = matmuls(dtype);
    for (Case& c : convolutions(dtype)) cases.push_back(std::move(c));
    for (const Case& c : cases) {
      SCOPED_TRACE(c.title());
      for (std::int64_t offset : {std::int64_t{0}, bytes(c.operands[0].dtype), std::int64_t{60}})
        expect_same_anywhere(c, library, offset);
    }
  }
}

std::int64_t place(const Layout& layout, std::int64_t index) {
  std::int64_t at = 0;
  for (auto axis = layout.axes().rbegin(); axis != layout.axes().rend(); ++axis) {
    at += index % axis->size * axis->stride;
    index /= axis->size;
  }
  return at;
}

struct Copy {
  Layout from, to;
};

TEST(LibraryLayout, CopiesMoveEveryBit) {
  std::vector<Copy> copies{
      {{{8640, 1}}, {{6, 1440}, {16, 1}, {90, 16}}},  // to blocks of channels
      {{{6, 1440}, {16, 1}, {90, 16}}, {{8640, 1}}},  // and back
      {{{9216, 1}}, {{2, 4608}, {16, 1}, {2, 2304}, {16, 16}, {9, 256}}},
      {{{2, 4608}, {16, 1}, {2, 2304}, {16, 16}, {9, 256}},
       {{2, 4608}, {16, 16}, {2, 2304}, {16, 1}, {9, 256}}},  // weights
      {{{9216, 1}}, {{2, 4608}, {16, 2}, {2, 2304}, {8, 32}, {2, 1}, {9, 256}}},
      {{{30, 7}, {7, 1}}, {{7, 30}, {30, 1}}},
      {{{12, 5}, {3, 100}, {5, 1}}, {{180, 1}}},  // with gaps
      {{{12, 0}, {15, 1}}, {{12, 15}, {15, 1}}},  // a row repeated
      {{{12, 15}, {15, -1}}, {{180, 1}}},         // backwards
      {{{30, 1}, {6, 30}}, {{20, 1}, {9, 20}}},   // cut at other places
      {{{180, 1}}, {{180, 1}}},
      {{{6, 30}, {30, 1}}, {{180, 1}}},
      {{{6, 1}, {30, 6}}, {{6, 1}, {30, 6}}},  // equal and not row-major
      {{}, {}},
      {{{0, 1}}, {{0, 1}}}};
  Library library, two(2);
  for (const auto& [from, to] : copies)
    for (DType dtype : {DType::boolean, DType::bf16, DType::f32, DType::i64}) {
      SCOPED_TRACE(to_text(from) + " to " + to_text(to) + ", " + std::string(name(dtype)));
      std::int64_t size = bytes(dtype), count = from.elements(), low = 0, high = 0;
      for (Layout::Axis a : from.axes()) (a.stride < 0 ? low : high) += (a.size - 1) * a.stride;
      Tensor source = numbers(Type{DType::u8, false, {(high - low + 1) * size}}, 7);
      const std::byte* first = source.bytes().data() - low * size;
      for (Library* by : {&library, &two}) {
        Guarded target(count * size, size);
        Type type{dtype, false, {count}};
        ConstView read{type, from, first};
        View write{type, to, target.bytes().data()};
        auto kernel = by->prepare_copy(dtype, from, to);
        EXPECT_EQ(kernel->workspace_bytes, 0);
        kernel->bind({&read, 1}, {&write, 1}, {})->run();
        EXPECT_TRUE(target.intact());
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < count; ++i)
          wrong += std::memcmp(write.data + place(to, i) * size, first + place(from, i) * size,
                               static_cast<std::size_t>(size)) != 0;
        EXPECT_EQ(wrong, 0);
      }
    }
}

TEST(LibraryLayout, EveryBf16AndSignallingNaNsAreCopied) {
  Library library;
  Layout from = Layout::row_major(1 << 16), to{{16, 4096}, {16, 1}, {256, 16}};
  for (DType dtype : {DType::bf16, DType::f32}) {
    Type type{dtype, false, {1 << 16}};
    Tensor a(type), b(type), c(type);
    for (std::int64_t i = 0; i < 1 << 16; ++i)
      if (dtype == DType::bf16)
        a.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
      else
        a.as<std::uint32_t>()[i] = 0x7f800000u + static_cast<std::uint32_t>(i) * 0x81u;
    ConstView x = view_of(std::as_const(a)), y{type, to, b.bytes().data()};
    View in_blocks{type, to, b.bytes().data()}, back = view_of(c);
    library.prepare_copy(dtype, from, to)->bind({&x, 1}, {&in_blocks, 1}, {})->run();
    library.prepare_copy(dtype, to, from)->bind({&y, 1}, {&back, 1}, {})->run();
    EXPECT_TRUE(same_bits(a, c));
  }
}

TEST(LibraryLayout, AKernelInUseOutlivesTheCache) {
  Library library;
  const Case c("f32[8,16]", "f32[16,8]", "f32[8,8]", "matmul(%a, %b)");
  auto kernel = library.prepare(c.spec());
  EXPECT_EQ(library.prepare(c.spec()), kernel);
  Tensor got(c.results[0]);
  std::vector<ConstView> from{view_of(c.inputs[0]), view_of(c.inputs[1])};
  View to = view_of(got);
  Tensor workspace(Type{DType::u8, false, {kernel->workspace_bytes}});
  auto bound = kernel->bind(from, {&to, 1}, workspace.bytes());
  for (std::int64_t i = 2; i < 1100; ++i)
    library.prepare_copy(DType::f32, Layout::row_major(4 * i), {{4, 1}, {i, 4}});
  EXPECT_NE(library.prepare(c.spec()), kernel);  // made again
  bound->run();
  EXPECT_TRUE(same_bits(got, c.by(library)));
}

}  // namespace
}  // namespace hocket
