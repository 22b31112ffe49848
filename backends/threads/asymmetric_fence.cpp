#include "backends/threads/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>

namespace meshscope::backends::threads {
namespace {

bool membarrier(int command) noexcept {
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

void AsymmetricFence::make_asymmetric() noexcept {
    static const bool registered =
        membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    asymmetric_ = registered;
}

void AsymmetricFence::heavy() const noexcept {
    fence();
    if (!asymmetric_ || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
    // It worked when it was asked first, but the kernel may be out of memory. Without it a rank could sleep
    // on.
    if (!membarrier(MEMBARRIER_CMD_GLOBAL)) std::terminate();
}

}  // namespace meshscope::backends::threads
