#include <cstring>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace meshscope::comm
