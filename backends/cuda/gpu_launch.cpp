#include "backends/cuda/gpu_launch.h"

#include <algorithm>

#include "backends/cuda/load_gpu.h"

namespace meshscope::backends::cuda {
namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kWarp = 32;

int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

uint32_t narrow(int64_t n) {
    return static_cast<uint32_t>(n);
}

}  // namespace

LaunchShape shape_of_elements(int64_t n) {
    const int64_t threads = std::clamp(ceil_div(n, kWarp) * kWarp, kWarp, kThreads);
    const int64_t blocks = std::clamp<int64_t>(ceil_div(n, threads), 1, 8192);
    return {{narrow(blocks), 1, 1}, {narrow(threads), 1, 1}, 0};
}

LaunchShape shape_of_rows(int64_t rows, int64_t width) {
    const int64_t threads = std::clamp(ceil_div(width, kWarp) * kWarp, kWarp, kThreads);
    return {{narrow(rows), 1, 1}, {narrow(threads), 1, 1}, 0};
}

int64_t column_slices(int64_t rows) {
    return std::clamp<int64_t>(rows / 128, 1, 64);
}

LaunchShape shape_of_columns(int64_t width, int64_t slices) {
    return {{narrow(ceil_div(width, kWarp)), narrow(slices), 1}, {kWarp, 8, 1}, 0};
}

LaunchShape shape_of_partial_sums(int64_t n) {
    const int64_t blocks = std::clamp<int64_t>(ceil_div(n, kThreads * 8), 1, 256);
    return {{narrow(blocks), 1, 1}, {kThreads, 1, 1}, 0};
}

LaunchShape shape_of_chunks(int64_t chunks) {
    return {{narrow(std::clamp<int64_t>(chunks, 1, 8192)), 1, 1}, {kThreads, 1, 1}, 0};
}

LaunchShape shape_of_one_block() {
    return {{1, 1, 1}, {kThreads, 1, 1}, 0};
}

LaunchShape shape_of_attention(int64_t rows, int64_t heads, int64_t batch, int64_t head_dim) {
    return {{narrow(ceil_div(rows, MESHSCOPE_ATTENTION_ROWS)), narrow(heads), narrow(batch)},
            {128, 1, 1},
            attention_shared_bytes(head_dim, attention_tile(head_dim))};
}

int32_t attention_tile(int64_t head_dim) {
    constexpr uint32_t kMostBytes = 96 << 10;
    int32_t tile = 32;
    while (tile > 1 && attention_shared_bytes(head_dim, tile) > kMostBytes) tile /= 2;
    return tile;
}

uint32_t attention_shared_bytes(int64_t head_dim, int32_t tile) {
    const int64_t floats = 2 * tile * (head_dim + 1) + 2 * MESHSCOPE_ATTENTION_ROWS * head_dim +
                           2 * MESHSCOPE_ATTENTION_ROWS * kWarp;
    return narrow(floats * 4);
}

void launch_bytes(const GpuStream& stream, int32_t kernel, int32_t dtype, const void* parameters,
                  int32_t parameter_bytes, const LaunchShape& shape) {
    MeshscopeGpuLaunch launch{};
    launch.kernel = kernel;
    launch.dtype = dtype;
    launch.parameters = parameters;
    launch.parameter_bytes = parameter_bytes;
    std::copy_n(shape.grid, 3, launch.grid);
    std::copy_n(shape.block, 3, launch.block);
    launch.shared_bytes = shape.shared_bytes;
    const MeshscopeGpu& table = *stream.gpu().table;
    check(table, table.launch(stream.handle(), &launch), "launch");
}

}  // namespace meshscope::backends::cuda
