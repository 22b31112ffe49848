#include "backends/tcp/near_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace meshscope::backends::tcp {
namespace {

template <class Copy>
bool copy_blocks(Copy* copy, uint32_t pid, uint64_t address, std::byte* here, std::size_t bytes) {
    while (bytes > 0) {
        const std::size_t n = std::min(bytes, kNearBlockBytes);
        const iovec mine{here, n};
        const iovec theirs{reinterpret_cast<void*>(static_cast<uintptr_t>(address)), n};
        const ssize_t done = copy(static_cast<pid_t>(pid), &mine, 1, &theirs, 1, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        here += done;
        address += static_cast<uint64_t>(done);
        bytes -= static_cast<std::size_t>(done);
    }
    return true;
}

}  // namespace

uint64_t address_of(const void* place) {
    return reinterpret_cast<uintptr_t>(place);
}

bool read_memory(uint32_t pid, uint64_t address, std::span<std::byte> to) {
    return copy_blocks(::process_vm_readv, pid, address, to.data(), to.size());
}

bool write_memory(uint32_t pid, uint64_t address, ByteSpan from) {
    return copy_blocks(::process_vm_writev, pid, address, const_cast<std::byte*>(from.data()), from.size());
}

}  // namespace meshscope::backends::tcp
