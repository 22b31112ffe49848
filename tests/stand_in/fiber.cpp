#include "tests/stand_in/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace meshscope::simt {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;  // touched pages only are real

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

}  // namespace

Fiber::Fiber(void (*entry)(void*), void* argument) : entry_(entry), argument_(argument), started_(false) {
    stack_ = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
    bottom_ = stack_;
    size_ = kStackBytes;
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    // makecontext's arguments are ints.
    const auto bits = reinterpret_cast<uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(reinterpret_cast<void*>(&Fiber::start)), 2,
                static_cast<unsigned>(bits >> 32U), static_cast<unsigned>(bits));
#if defined(__SANITIZE_THREAD__)
    known_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
    if (stack_ == nullptr) return;
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(known_);
#endif
    munmap(stack_, kStackBytes);
}

void Fiber::start(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32U | low);
    arrived(*self);
    self->entry_(self->argument_);
}

/// The first thing that a fiber does when it goes on.
void Fiber::arrived(Fiber& self) {
#if defined(__SANITIZE_ADDRESS__)
    // Says where the one before has its stack: that of a thread is learnt so.
    __sanitizer_finish_switch_fiber(self.fake_stack_, &self.last_->bottom_, &self.last_->size_);
#else
    static_cast<void>(self);
#endif
}

void Fiber::switch_between(Fiber& from, Fiber& to) {
    to.last_ = &from;
#if defined(__SANITIZE_ADDRESS__)
    if (to.bottom_ == nullptr) {
        pthread_attr_t attributes;
        void* bottom = nullptr;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &bottom, &to.size_);
        pthread_attr_destroy(&attributes);
        to.bottom_ = bottom;
    }
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#elif defined(__SANITIZE_THREAD__)
    if (from.known_ == nullptr) from.known_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.known_, 0);
#endif
    if (kWatched) {
        // They know swapcontext; jumps between stacks would confuse them.
        swapcontext(&from.context_, &to.context_);
        arrived(from);
        return;
    }
    if (_setjmp(from.place_) != 0) return;
    if (to.started_) _longjmp(to.place_, 1);
    to.started_ = true;
    setcontext(&to.context_);
}

}  // namespace meshscope::simt
