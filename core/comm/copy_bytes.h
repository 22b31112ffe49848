#pragma once

#include <cstddef>
#include <cstdint>

namespace meshscope::comm {

/// memcpy that may be asked for 0 bytes at null, and for a copy onto itself.
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes);
/// The same, for buffers that no cache could hold until they are read: what is written goes to memory without
/// its old lines being fetched first, and drives nothing out. Up to twice as fast for such, and up to
/// half as fast for smaller ones.
void copy_past_cache(std::byte* to, const std::byte* from, int64_t bytes);

}  // namespace meshscope::comm
