#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/nccl/library.h"
#include "backends/nccl/nccl_world.h"
#include "core/base/kinds.h"

namespace meshscope::backends::nccl {

/// One collective at one size, as all ranks saw it.
struct CheckedCollective {
    CollectiveOp op = CollectiveOp::barrier;
    ReduceOp reduce_op = ReduceOp::none;
    DType dtype = DType::float32;
    int64_t elements = 0;  ///< a rank's
    int64_t wrong = 0;     ///< numbers that are not the expected ones, of all ranks
    int64_t ns = 0;        ///< of the second of two runs, the slowest rank's
};

/// Elements a rank that the self-check takes: one, few, and so many that NCCL's other protocols come in.
inline constexpr std::array<int64_t, 3> kCheckedSizes{1, 1000, 1'000'003};

/// Runs every collective that there is on all ranks of `world`, at each of `sizes`, and compares what comes
/// out with what its definition says. All numbers are small integers, whose sums have no rounding in any
/// order, so every one must be exact. Throws what the world throws.
std::vector<CheckedCollective> check_collectives(NcclWorld& world, const NcclWorld::DeviceOf& device_of,
                                                 std::span<const int64_t> sizes = kCheckedSizes);

}  // namespace meshscope::backends::nccl
