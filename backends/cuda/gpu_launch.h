#pragma once

#include <cstdint>

#include "backends/cuda/gpu.h"

namespace meshscope::backends::cuda {

/// How many blocks of how many threads a launch has.
struct LaunchShape {
    uint32_t grid[3] = {1, 1, 1};
    uint32_t block[3] = {1, 1, 1};
    uint32_t shared_bytes = 0;
};

/// Threads that stride over n elements: blocks of 256 (fewer where n is smaller), at most 8192 of them.
LaunchShape shape_of_elements(int64_t n);
/// A block a row, for rows of `width`: as many whole warps as the width fills, at most 256 threads.
LaunchShape shape_of_rows(int64_t rows, int64_t width);
/// In how many slices of rows columns are summed: one for every 128 rows, at most 64; of the rows alone, so
/// that sums keep their order on every device.
int64_t column_slices(int64_t rows);
/// (32, 8) threads for every 32 columns and every slice.
LaunchShape shape_of_columns(int64_t width, int64_t slices);
/// The partial sums of n elements: at most 256 blocks of 256 threads; of n alone, so that sums keep their
/// order on every device.
LaunchShape shape_of_partial_sums(int64_t n);
/// Blocks of 256 threads that stride over chunks, at most 8192 of them.
LaunchShape shape_of_chunks(int64_t chunks);
/// One block that strides over everything.
LaunchShape shape_of_one_block();
/// A block for every MESHSCOPE_ATTENTION_ROWS of `rows`, by heads and batch.
LaunchShape shape_of_attention(int64_t rows, int64_t heads, int64_t batch, int64_t head_dim);

/// The rows of the other side that attention takes at a time: 32, or fewer where their two tiles would not
/// fit into the 96 KiB of shared memory that a block gets on every device from compute capability 8.0 on.
int32_t attention_tile(int64_t head_dim);
/// What AttentionShared (kernels/attention.h) needs.
uint32_t attention_shared_bytes(int64_t head_dim, int32_t tile);

/// Enqueues a kernel. Throws DeviceError "gpu.failed".
template <class Parameters>
void launch(const GpuStream& stream, int32_t kernel, int32_t dtype, const Parameters& parameters,
            const LaunchShape& shape);

/// As launch, whatever the parameters are.
void launch_bytes(const GpuStream& stream, int32_t kernel, int32_t dtype, const void* parameters,
                  int32_t parameter_bytes, const LaunchShape& shape);

template <class Parameters>
void launch(const GpuStream& stream, int32_t kernel, int32_t dtype, const Parameters& parameters,
            const LaunchShape& shape) {
    launch_bytes(stream, kernel, dtype, &parameters, static_cast<int32_t>(sizeof parameters), shape);
}

}  // namespace meshscope::backends::cuda
