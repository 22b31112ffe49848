#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>

namespace meshscope::simt {

/// One flow of control with a stack of its own, for a loop that runs many in turns on one thread of the host.
/// Switching costs about ten nanoseconds (with sanitizers, which must be told, about a microsecond).
class Fiber {
  public:
    /// The thread that makes it, as it is.
    Fiber() = default;
    /// A new one, which will run entry(argument) when it is first switched to; entry never returns. Throws
    /// std::bad_alloc.
    Fiber(void (*entry)(void*), void* argument);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Stops `from`, which runs now, and goes on with `to` where it stopped.
    static void switch_between(Fiber& from, Fiber& to);

  private:
    static void start(unsigned high, unsigned low);
    static void arrived(Fiber& self);

    void (*entry_)(void*) = nullptr;
    void* argument_ = nullptr;
    void* stack_ = nullptr;
    bool started_ = true;
    ucontext_t context_{};
    jmp_buf place_{};
    // What the sanitizers keep of it.
    void* fake_stack_ = nullptr;
    const void* bottom_ = nullptr;
    std::size_t size_ = 0;
    void* known_ = nullptr;
    Fiber* last_ = nullptr;
};

}  // namespace meshscope::simt
