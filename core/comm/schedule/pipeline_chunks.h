#pragma once

#include <algorithm>
#include <cstdint>

namespace meshscope::comm {

/// Into how many chunks a buffer of n elements is cut that travels in a pipeline (ring_pipeline, each half of
/// double_tree): chunks of 64 KiB, but at least 4 (or the pipe never fills), at most 64, and none without an
/// element while there are any. A rule of the buffer alone, so that every rank, the cost formulas and the
/// modelled clock say the same.
inline int32_t pipeline_chunks(int64_t n, int64_t element_bytes) {
    constexpr int64_t kBytes = 64 * 1024;
    const int64_t wanted = std::clamp<int64_t>((n * element_bytes + kBytes - 1) / kBytes, 4, 64);
    return static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(n, 1)));
}

}  // namespace meshscope::comm
