#include "backends/fibers/stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace meshscope::backends::fibers {

Stack::Stack(std::size_t bytes)
    : bytes_(bytes), guard_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    // The guard first, as the C library makes its threads' stacks: what nobody may touch is not counted.
    void* const all = mmap(nullptr, guard_bytes_ + bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    bottom_ = static_cast<std::byte*>(all) + guard_bytes_;
    if (mprotect(bottom_, bytes, PROT_READ | PROT_WRITE) == 0) return;
    munmap(all, guard_bytes_ + bytes);
    throw std::bad_alloc();
}

Stack::~Stack() {
    munmap(bottom_ - guard_bytes_, guard_bytes_ + bytes_);
}

}  // namespace meshscope::backends::fibers
