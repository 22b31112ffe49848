#pragma once

#include <cstddef>
#include <memory>

namespace meshscope::backends::fibers {

/// A stack, and how far the code on it has come: what can be left in the middle and gone on with later. The
/// one seam between the fibers and the machine: context_ucontext.cpp keeps it with the C library's contexts,
/// CMakeLists.txt chooses.
///
/// What C++ keeps of exceptions (those being handled, and how many are on their way) goes with the stack, so
/// a rank may be left in a catch block or in a destructor. Nothing else does: what is thread_local is shared
/// by all contexts of a thread, and so is a mutex that is held across a switch.
///
/// A context is used on the thread that made it.
class Context {
  public:
    /// Code that a context begins with. Must not throw and must not return: it ends with leave_to().
    using Entry = void (*)(void* argument);

    /// What this thread runs already, to come back to.
    Context();
    /// `entry(argument)` on a stack of its own, begun by the first switch to it, of so many bytes (0: what a
    /// rank gets here). Throws std::bad_alloc where there is no memory for the stack.
    Context(Entry entry, void* argument, std::size_t stack_bytes = 0);
    /// A context that was begun has left.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Leaves this context, which is the one that runs, and goes on with `next`; returns when somebody comes
    /// back.
    void switch_to(Context& next);
    /// Leaves this context for ever.
    [[noreturn]] void leave_to(Context& next);

  private:
    struct Machine;
    std::unique_ptr<Machine> machine_;
};

}  // namespace meshscope::backends::fibers
