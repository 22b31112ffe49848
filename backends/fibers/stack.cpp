#include "backends/fibers/stack.h"

#include <sys/mman.h>

#include <new>

#include "core/base/fiber_stack.h"

namespace meshscope::backends::fibers {

namespace {

constexpr auto kGuardBytes = static_cast<std::size_t>(kFiberGuardBytes);  // a multiple of every page

}  // namespace

Stack::Stack(std::size_t bytes) : bytes_(bytes) {
    // The guard first, as the C library makes its threads' stacks: what nobody may touch is not counted.
    void* const all = mmap(nullptr, kGuardBytes + bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    bottom_ = static_cast<std::byte*>(all) + kGuardBytes;
    if (mprotect(bottom_, bytes, PROT_READ | PROT_WRITE) == 0) return;
    munmap(all, kGuardBytes + bytes);
    throw std::bad_alloc();
}

Stack::~Stack() {
    munmap(bottom_ - kGuardBytes, kGuardBytes + bytes_);
}

}  // namespace meshscope::backends::fibers
