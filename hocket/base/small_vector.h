#pragma once
// A vector that keeps a few elements inside itself. Operand lists, use lists and shapes are
// nearly always short; a heap block for each would double the size of a graph.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace hocket {

template <class T, std::uint32_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallVector() {
  }  // NOLINT(modernize-use-equals-default): a union member leaves nothing to default
  SmallVector(std::initializer_list<T> v) : SmallVector(std::span<const T>(v.begin(), v.size())) {}
  explicit SmallVector(std::span<const T> v) { assign(v); }
  SmallVector(std::uint32_t count, T fill) {
    reserve(count);
    std::fill_n(data(), count, fill);
    size_ = count;
  }
  SmallVector(const SmallVector& o) { assign(o); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) assign(o);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  void assign(std::span<const T> v) {
    reserve(static_cast<std::uint32_t>(v.size()));
    std::copy(v.begin(), v.end(), data());
    size_ = static_cast<std::uint32_t>(v.size());
  }
  void push_back(T v) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    data()[size_++] = v;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void erase(T* at) {
    std::copy(at + 1, end(), at);
    --size_;
  }
  void insert(T* at, T v) {
    auto i = at - begin();
    push_back(v);
    std::rotate(begin() + i, end() - 1, end());
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? heap_ : inline_; }
  const T* data() const { return capacity_ > N ? heap_ : inline_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void reserve(std::uint32_t wanted) {
    if (wanted <= capacity_) return;
    T* grown = new T[wanted];
    std::copy(begin(), end(), grown);
    release();
    heap_ = grown;
    capacity_ = wanted;
  }
  void release() {
    if (capacity_ > N) delete[] heap_;
    capacity_ = N;
  }
  void take(SmallVector& o) {
    size_ = o.size_;
    capacity_ = o.capacity_;
    if (o.capacity_ > N)
      heap_ = o.heap_;
    else
      std::copy(o.begin(), o.end(), inline_);
    o.capacity_ = N;
    o.size_ = 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace hocket
