#pragma once

#include <cstddef>

namespace meshscope::backends::fibers {

/// What a sanitizer has to be told of stacks and of the switches between them, which it would take for an
/// overflow, or for one thread that races with itself. One file for each (sanitizer_none.cpp,
/// sanitizer_address.cpp, sanitizer_thread.cpp); CMakeLists.txt chooses.
class SanitizedStack {
  public:
    /// The stack that this thread runs on already.
    SanitizedStack();
    /// One of its own, from `bottom` up.
    SanitizedStack(void* bottom, std::size_t bytes);
    ~SanitizedStack();
    SanitizedStack(const SanitizedStack&) = delete;
    SanitizedStack& operator=(const SanitizedStack&) = delete;

    /// The code on this stack is about to go on with `next`; `last`: and will never be gone on with.
    void leave(SanitizedStack& next, bool last);
    /// It goes on here, behind somebody's leave(). The first thing done on this stack.
    void arrive();

  private:
    void* sanitizers_own_ = nullptr;  ///< its fake stack, or its fiber
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    SanitizedStack* came_from_ = nullptr;
    bool owned_ = false;
};

}  // namespace meshscope::backends::fibers
