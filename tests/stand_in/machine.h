#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "backends/cuda/gpu_module.h"

namespace meshscope::stand_in {

inline constexpr int32_t kMostDevices = 8;

/// What the module keeps. One a process, as a driver is.
struct Machine {
    std::mutex mutex;
    std::map<std::string, int64_t> calls;
    std::string fails;
    int64_t fails_in = 0;
    int32_t fails_with = 0;
    MeshscopeGpuMachine told{0, 13000, 13000, 1};
    int64_t room = int64_t{8} << 30;
    std::array<int64_t, kMostDevices> used{};
    /// By the host's calls, as a stream's own next request may have what was freed before it: what a GPU's
    /// pool counts, however far its streams have come.
    std::array<int64_t, kMostDevices> asked{}, most_asked{};
    struct Block {
        int32_t device = 0;  ///< -1: page-locked memory of the host
        int64_t bytes = 0;
    };
    std::map<const void*, Block, std::less<>> blocks;
    int64_t streams = 0, events = 0;
};

Machine& g_machine();

/// Counts the call, and gives the code that a test wished for it.
int32_t enter(const char* call);

#define MESHSCOPE_ENTER(call) \
    if (const int32_t wished = enter(call); wished != MESHSCOPE_GPU_OK) return wished

bool is_device(int32_t device);

/// A device's number in an array of all of them.
inline int64_t& of_device(std::array<int64_t, kMostDevices>& bytes, int32_t device) {
    return bytes[static_cast<std::size_t>(device)];
}

}  // namespace meshscope::stand_in
