#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace meshscope::tensor {

/// The sizes of a tensor's dims, outermost first; no dims: a scalar. The numbers lie in the object itself, so
/// that a handle of a tensor is copied and made without an allocation: small models make thousands a step.
class Shape {
  public:
    using value_type = int64_t;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = int64_t&;
    using const_reference = const int64_t&;
    using iterator = int64_t*;
    using const_iterator = const int64_t*;

    static constexpr std::size_t kMostDims = 8;

    Shape() = default;
    /// All of these and insert, push_back and resize throw InvalidArgument "tensor.too_many_dims" {dims,
    /// most}.
    Shape(std::initializer_list<int64_t> dims) { assign(dims.begin(), dims.end()); }
    Shape(const std::vector<int64_t>& dims) { assign(dims.begin(), dims.end()); }
    explicit Shape(std::size_t n, int64_t each = 0) { resize(n, each); }
    template <std::forward_iterator Iterator>
    Shape(Iterator first, Iterator last) {
        assign(first, last);
    }

    std::size_t size() const { return n_; }
    std::size_t max_size() const { return kMostDims; }
    bool empty() const { return n_ == 0; }
    int64_t* data() { return dims_.data(); }
    const int64_t* data() const { return dims_.data(); }
    iterator begin() { return data(); }
    iterator end() { return data() + n_; }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + n_; }
    int64_t& operator[](std::size_t i) { return dims_[i]; }
    int64_t operator[](std::size_t i) const { return dims_[i]; }
    /// Throws std::out_of_range.
    int64_t& at(std::size_t i) { return const_cast<int64_t&>(std::as_const(*this).at(i)); }
    const int64_t& at(std::size_t i) const {
        if (i >= n_) throw_outside(i);
        return dims_[i];
    }
    int64_t& front() { return dims_[0]; }
    int64_t front() const { return dims_[0]; }
    int64_t& back() { return dims_[n_ - 1]; }
    int64_t back() const { return dims_[n_ - 1]; }

    void push_back(int64_t dim) { resize(n_ + 1, dim); }
    void pop_back() { --n_; }
    void clear() { n_ = 0; }
    void resize(std::size_t n, int64_t each = 0) {
        expect_room(n);
        for (std::size_t i = n_; i < n; ++i) dims_[i] = each;
        n_ = n;
    }
    iterator insert(const_iterator before, int64_t dim) {
        const auto at = before - begin();
        push_back(dim);
        std::rotate(begin() + at, end() - 1, end());
        return begin() + at;
    }
    iterator erase(const_iterator which) {
        int64_t* const at = begin() + (which - begin());
        std::copy(at + 1, end(), at);
        --n_;
        return at;
    }

    friend bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a, b); }
    operator std::vector<int64_t>() const { return {begin(), end()}; }

  private:
    template <class Iterator>
    void assign(Iterator first, Iterator last) {
        expect_room(static_cast<std::size_t>(std::distance(first, last)));
        n_ = static_cast<std::size_t>(std::copy(first, last, begin()) - begin());
    }
    static void expect_room(std::size_t n) {
        if (n > kMostDims) throw_too_many(n);
    }
    [[noreturn]] static void throw_too_many(std::size_t n);
    [[noreturn]] static void throw_outside(std::size_t i);

    std::array<int64_t, kMostDims> dims_{};
    std::size_t n_ = 0;
};

/// The product of a shape; 1 for the shape of a scalar. Throws InvalidArgument ("tensor.bad_shape") when a
/// dim is negative or the product does not fit.
int64_t count(const Shape& shape);

}  // namespace meshscope::tensor
