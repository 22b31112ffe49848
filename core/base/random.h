#pragma once

#include <array>
#include <cstdint>

namespace meshscope {

/// Counter-based random numbers: each is a pure function of (seed, stream, position), so any rank draws any
/// element of any tensor alone and in any order, and a run is repeated exactly. There is no state and no live
/// stream.
///
/// Philox4x32-10 of Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten
/// rounds of two 32-bit multiplications over a 128-bit counter, keyed with 64 bits. The words equal those of
/// Random123, cuRAND and PyTorch's Philox engine for the same counter and key.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The four words of (seed, stream, position): key = seed, counter = position (low words), stream (high
/// words). Cost: one Philox block, about 10 ns.
std::array<uint32_t, 4> random_words(uint64_t seed, uint64_t stream, uint64_t position);

/// Uniform in [0, 1), in steps of 2^-53. Uses the first two words; exact on every machine.
double uniform(uint64_t seed, uint64_t stream, uint64_t position);

/// Standard normal by Box and Muller, from all four words; |value| < 8.7. Uses log and cos of the C library,
/// so the last bit may differ between C libraries.
double normal(uint64_t seed, uint64_t stream, uint64_t position);

/// Uniform in {0, …, n-1}, n > 0. The bias is below n / 2^64.
uint64_t uniform_below(uint64_t n, uint64_t seed, uint64_t stream, uint64_t position);

}  // namespace meshscope
