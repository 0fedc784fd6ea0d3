#pragma once
// The storage of a graph's records: addresses do not change while it grows, and a transaction can
// be taken back because every record is saved before its first edit.

#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace hocket {

template <class T>
class Store {
 public:
  Store() = default;
  Store(const Store& o) {
    for (std::uint32_t i = 0; i < o.size_; ++i) push(o[i]);
  }
  Store(Store&& o) noexcept
      : chunks_(std::move(o.chunks_)),
        size_(std::exchange(o.size_, 0)),
        journal_(std::move(o.journal_)) {}
  Store& operator=(Store o) noexcept {
    std::swap(chunks_, o.chunks_);
    std::swap(size_, o.size_);
    std::swap(journal_, o.journal_);
    return *this;
  }
  ~Store() { shrink(0); }

  std::uint32_t size() const { return size_; }
  const T& operator[](std::uint32_t i) const { return *slot(i); }

  /// Record `i`, for editing. O(1), plus one copy of the record per transaction.
  T& edit(std::uint32_t i) {
    if (journal_ && i < journal_->saved.size() && !journal_->saved[i]) {
      journal_->saved[i] = true;
      journal_->old.emplace_back(i, *slot(i));
    }
    return *slot(i);
  }

  std::uint32_t push(T record) {
    std::uint32_t chunk = chunk_of(size_);
    if (chunk == chunks_.size())
      chunks_.push_back(static_cast<T*>(::operator new(sizeof(T) << (chunk + first_bits))));
    new (slot(size_)) T(std::move(record));
    return size_++;
  }

  void begin() {
    journal_ = std::make_unique<Journal>();
    journal_->saved.resize(size_);
  }
  void commit() { journal_.reset(); }
  void rollback() {
    auto journal = std::exchange(journal_, nullptr);
    if (!journal) return;
    shrink(static_cast<std::uint32_t>(journal->saved.size()));
    for (auto& [i, old] : journal->old) *slot(i) = std::move(old);
  }

  /// Calls f(i) for every record edited or added since begin().
  template <class F>
  void for_each_touched(F f) const {
    if (!journal_) return;
    for (const auto& entry : journal_->old) f(entry.first);
    for (auto i = static_cast<std::uint32_t>(journal_->saved.size()); i < size_; ++i) f(i);
  }

 private:
  struct Journal {
    std::vector<bool> saved;  // its length is the size at begin()
    std::vector<std::pair<std::uint32_t, T>> old;
  };

  // Chunk k holds 2^(k + first_bits) records: few chunks, and little waste in a small graph.
  static constexpr std::uint32_t first_bits = 2;
  static std::uint32_t chunk_of(std::uint32_t i) {
    return static_cast<std::uint32_t>(std::bit_width(i + (1u << first_bits))) - 1 - first_bits;
  }
  T* slot(std::uint32_t i) const {
    std::uint32_t chunk = chunk_of(i);
    return chunks_[chunk] + (i + (1u << first_bits) - (1u << (chunk + first_bits)));
  }
  void shrink(std::uint32_t size) {
    while (size_ > size) slot(--size_)->~T();
    std::uint32_t keep = size == 0 ? 0 : chunk_of(size - 1) + 1;
    while (chunks_.size() > keep) {
      ::operator delete(chunks_.back());
      chunks_.pop_back();
    }
  }

  std::vector<T*> chunks_;
  std::uint32_t size_ = 0;
  std::unique_ptr<Journal> journal_;
};

}  // namespace hocket
