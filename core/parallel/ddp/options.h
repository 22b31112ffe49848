#pragma once

#include <cstdint>
#include <optional>

namespace meshscope::parallel {

/// What DDP does with a bucket that is full (torch.distributed.algorithms.ddp_comm_hooks).
enum class DdpHook : uint8_t {
    none,           ///< the reducer's own way: gradients are divided as they enter the bucket, then summed
    allreduce,      ///< allreduce_hook: the whole bucket is divided at once, then summed; the same numbers
    fp16_compress,  ///< fp16_compress_hook: cast to float16, divided, summed, cast back
    bf16_compress,  ///< the same in bfloat16
    powersgd,       ///< powerSGD_hook
};

/// PowerSGDState's numbers, with PyTorch's defaults.
struct PowerSgdOptions {
    int64_t matrix_approximation_rank = 1;
    int64_t start_iteration = 1000;   ///< reductions before this one are plain all_reduces
    double min_compression_rate = 2;  ///< a matrix is compressed where (n + m)·rank·this < n·m
    bool error_feedback = true;       ///< what compression lost is added to the next gradients
    bool warm_start = true;           ///< Q goes on from the last one instead of from random numbers
    uint64_t seed = 0;
};

struct DdpOptions {
    std::optional<double> bucket_cap_mb;  ///< absent: 1 MiB for the first bucket, then 25
    bool gradient_as_bucket_view = false;
    bool static_graph = false;
    bool find_unused_parameters = false;
    DdpHook hook = DdpHook::none;
    PowerSgdOptions powersgd;
    bool join = false;  ///< ranks may run out of batches (Join)
    /// Join: gradients are divided by the world size although some ranks gave none; false: by the ranks that
    /// did.
    bool divide_by_initial_world_size = true;
};

}  // namespace meshscope::parallel
