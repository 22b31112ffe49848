#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace meshscope::trace {

/// A list that only grows at its end and never moves what it holds: memory comes in blocks that are touched
/// (value initialised) when they are taken, so writing an element costs no page fault and no copy of older
/// elements.
///
/// Used by one thread at a time. Cost of push(): one write; a new block every kPerBlock elements.
template <class T, std::size_t kPerBlock>
class Blocks {
  public:
    /// Takes and touches memory for `elements` beforehand.
    void reserve(std::size_t elements) {
        table_.reserve(64);
        while (capacity() < elements) grow();
    }
    T& push(const T& value) { return push() = value; }
    /// One more element, value initialised, to be filled where it lies.
    T& push() {
        if (size_ == capacity()) grow();
        T& slot = table_[size_ / kPerBlock][size_ % kPerBlock];
        ++size_;
        return slot;
    }
    T& operator[](std::size_t i) { return table_[i / kPerBlock][i % kPerBlock]; }
    const T& operator[](std::size_t i) const { return table_[i / kPerBlock][i % kPerBlock]; }
    std::size_t size() const { return size_; }
    /// Elements there is memory for.
    std::size_t capacity() const { return table_.size() * kPerBlock; }

    /// Copies of the elements from `first` on, in order.
    std::vector<T> from(std::size_t first) const {
        std::vector<T> some;
        some.reserve(size_ - first);
        for (std::size_t i = first; i < size_; ++i) some.push_back((*this)[i]);
        return some;
    }

    /// Everything in order, as one vector; the list is empty after and keeps no memory.
    std::vector<T> take() {
        std::vector<T> all;
        all.reserve(size_);
        for (std::size_t i = 0; i < size_; i += kPerBlock) {
            std::unique_ptr<T[]>& block = table_[i / kPerBlock];
            all.insert(all.end(), block.get(), block.get() + (size_ - i < kPerBlock ? size_ - i : kPerBlock));
            block.reset();  // now, so that a long record is never held twice
        }
        table_.clear();
        size_ = 0;
        return all;
    }

  private:
    [[gnu::noinline, gnu::cold]] void grow() { table_.push_back(std::make_unique<T[]>(kPerBlock)); }

    std::vector<std::unique_ptr<T[]>> table_;
    std::size_t size_ = 0;
};

}  // namespace meshscope::trace
