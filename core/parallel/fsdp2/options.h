#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/parallel/mixed_precision.h"

namespace meshscope::parallel {

/// fully_shard's reshard_after_forward, of one unit.
struct ReshardAfterForward {
    bool reshard = true;  ///< false: whole from forward to backward
    /// An integer: between forward and backward each rank keeps 1/parts of the unit, and backward gathers it
    /// among that many neighbours. 0: the shard itself is what stays.
    int64_t parts = 0;
    friend bool operator==(const ReshardAfterForward&, const ReshardAfterForward&) = default;
};

/// Which micro-batches' gradients travel.
enum class GradientSync : uint8_t {
    last,             ///< set_requires_gradient_sync(is_last): none before the last
    all_reduce_last,  ///< set_requires_all_reduce(is_last): scattered each time, HSDP's replicas at the end
    every,            ///< no call at all: each micro-batch's, summed in shards
};

struct Fsdp2Options {
    /// Module names of each unit; what no unit names is the root's. Empty: the model's default units.
    std::vector<std::vector<std::string>> units;
    ReshardAfterForward reshard_after_forward;
    /// One for each of `units`, in their order, then perhaps one for the root; empty: the same for all.
    std::vector<ReshardAfterForward> reshard_by_unit;
    bool keep_root = false;  ///< PyTorch's default: the root unit stays whole between forward and backward
    bool reshard_after_backward = true;  ///< false: only after the last micro-batch's
    bool set_is_last_backward =
        false;  ///< tell units which backward is the step's last (brings the stale prefetch)
    bool backward_prefetch = true;  ///< the unit that ran forward before this one, unless told which below
    /// set_modules_to_forward_prefetch and set_modules_to_backward_prefetch: each unit gathers this many
    /// units that `units` names after it (before it); the root takes no part. 0: none were set.
    int32_t forward_prefetch_units = 0;
    int32_t backward_prefetch_units = 0;
    GradientSync gradient_sync = GradientSync::last;
    std::optional<double> gradient_divide_factor;  ///< absent: the number of data-parallel ranks
    bool force_sum_reduction = false;              ///< set_force_sum_reduction_for_comms
    bool cpu_offload = false;                      ///< CPUOffloadPolicy
    /// A pipeline's stage: backward neither frees nor reduces, as under set_reshard_after_backward(False) and
    /// set_requires_gradient_sync(False); reduce_gradients() does both, once a step.
    bool pipeline = false;
    MixedPrecision precision;
};

/// The sizes of the groups that integers in reshard_after_forward ask for, ascending, each once.
inline std::vector<int64_t> part_sizes(const Fsdp2Options& options) {
    std::set<int64_t> sizes;
    for (const ReshardAfterForward& each : options.reshard_by_unit) sizes.insert(each.parts);
    if (options.reshard_by_unit.empty()) sizes.insert(options.reshard_after_forward.parts);
    sizes.erase(0);
    sizes.erase(1);
    return {sizes.begin(), sizes.end()};
}

}  // namespace meshscope::parallel
