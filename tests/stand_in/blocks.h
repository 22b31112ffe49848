#pragma once

#include <cstdint>

namespace meshscope::stand_in {

/// A pool gives out whole pieces: how much it takes for `bytes`.
int64_t rounded(int64_t bytes);

/// A block of a device, or of the host's page-locked memory (device -1). No memory for 0 bytes. Gives the
/// runtime's code: MESHSCOPE_GPU_OUT_OF_MEMORY, MESHSCOPE_GPU_INVALID_VALUE.
int take(int32_t device, int64_t bytes, void** memory);
/// Back again; MESHSCOPE_GPU_INVALID_VALUE for what is no block of that kind.
int give(void* memory, bool of_device);

// Both memories are the host's here, so nothing would come of taking one for the other, which a GPU does not
// forgive: what is asked for is held to where blocks lie.

/// Whether it lies in a device's block; at the end of one, too, where a tensor of no bytes may stand.
bool on_device(const void* pointer, int64_t bytes);

/// Whether every number of a launch's parameters that can only be an address is one of a device: programs and
/// their heaps lie there in 64-bit Linux, and no count of elements comes near.
bool points_to_devices(const void* parameters, int32_t bytes);

}  // namespace meshscope::stand_in
