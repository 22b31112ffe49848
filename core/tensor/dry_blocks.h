#pragma once

#include <cstddef>
#include <cstdint>

namespace meshscope::tensor {

/// Addresses of `bytes` bytes that the dry device hands out and nobody reads or writes. Different blocks begin
/// at different ones; in a page, which has too few addresses, they may reach into each other. Null where there
/// are none.
std::byte* untouched_block(int64_t bytes);
void free_untouched_block(std::byte* block, int64_t bytes) noexcept;

}  // namespace meshscope::tensor
