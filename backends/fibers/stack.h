#pragma once

#include <cstddef>

namespace meshscope::backends::fibers {

/// Memory for a stack, mapped and not yet taken: the machine gives pages as they are touched. Below it lie
/// addresses that nobody may touch, so that an overflow ends the program there and not in another rank's
/// numbers.
class Stack {
  public:
    /// `bytes` are a multiple of the page's. Throws std::bad_alloc.
    explicit Stack(std::size_t bytes);
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    std::byte* bottom() const { return bottom_; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* bottom_;
    std::size_t bytes_;
};

}  // namespace meshscope::backends::fibers
