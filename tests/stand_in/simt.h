#pragma once

// The names of CUDA that the kernels' code uses, for a C++ compiler: the stand-in runs each block of a grid
// on one thread of the host. A kernel whose threads do not wait for each other runs them one after another;
// where they do, each is a fiber that runs until it must wait. Stricter than a GPU: a barrier that not all
// threads of the block (or lanes of the warp) reach ends the program, and so does one in a kernel that was
// said to have none. Dynamic shared memory is full of NaN before each block.

#include <math.h>
#include <stdint.h>

#include <bit>
#include <cstddef>

// NOLINTBEGIN: CUDA's spellings.
#define __global__
#define __device__
#define threadIdx (::meshscope::simt::now().thread)
#define blockIdx (::meshscope::simt::now().block)
#define blockDim (::meshscope::simt::now().block_dim)
#define gridDim (::meshscope::simt::now().grid_dim)
#define MESHSCOPE_SHARED(type, name, n) static thread_local type name[n]
#define MESHSCOPE_DYNAMIC_SHARED(name) float* const name = ::meshscope::simt::now().shared

namespace meshscope::simt {

struct Index {
    unsigned x = 1, y = 1, z = 1;
};

/// Which thread of which block runs now on this thread of the host.
struct Now {
    Index thread, block, block_dim, grid_dim;
    float* shared = nullptr;
};
inline Now& now() {
    static thread_local Now value;
    return value;
}

void sync_block();
void sync_warp();
/// Whether `value` is not 0 in any thread of the block.
int sync_block_or(int value);
/// What the lane `lane ^ apart` of the warp gave.
uint64_t exchange(uint64_t bits, int apart);

/// Runs kernel(parameters) for every thread of the grid, block after block, x fastest. `together`: its
/// threads wait for each other. Blocks have 1 to 1024 threads.
void run_grid(Index grid, Index block, uint32_t shared_bytes, bool together,
              void (*thread)(void (*kernel)(), const void* parameters), void (*kernel)(),
              const void* parameters);

}  // namespace meshscope::simt

inline void __syncthreads() {
    meshscope::simt::sync_block();
}
inline int __syncthreads_or(int value) {
    return meshscope::simt::sync_block_or(value);
}
inline void __syncwarp() {
    meshscope::simt::sync_warp();
}
inline float __shfl_xor_sync(unsigned, float x, int apart) {
    const auto bits = meshscope::simt::exchange(std::bit_cast<uint32_t>(x), apart);
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
inline double __shfl_xor_sync(unsigned, double x, int apart) {
    return std::bit_cast<double>(meshscope::simt::exchange(std::bit_cast<uint64_t>(x), apart));
}
inline float __uint_as_float(uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline uint32_t __float_as_uint(float x) {
    return std::bit_cast<uint32_t>(x);
}
// NOLINTEND
