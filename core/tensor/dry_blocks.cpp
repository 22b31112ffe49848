// Mapped and not backed: takes addresses alone. A page's are in dry_blocks_page.cpp, and CMakeLists.txt
// chooses.
#include "core/tensor/dry_blocks.h"

#include <sys/mman.h>

namespace meshscope::tensor {

std::byte* untouched_block(int64_t bytes) {
    void* const memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

void free_untouched_block(std::byte* block, int64_t bytes) noexcept {
    munmap(block, static_cast<std::size_t>(bytes));
}

}  // namespace meshscope::tensor
