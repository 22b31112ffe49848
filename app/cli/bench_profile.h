#pragma once

#include <cstdint>
#include <string>

#include "core/run/run.h"
#include "core/time/profile.h"

namespace meshscope::cli {

/// What `meshscope bench profile` is asked.
struct ProfileBench {
    std::string name = "this-machine";
    std::string backend = "threads";
    int32_t repeats = 3;  ///< runs of each model; kernels are medians over all of them
};

/// This machine as a hardware profile. One rank trains an mlp of three sizes, a gpt and a llama of two:
/// linear layers give the speed of large products and the size at which half of it is reached, attention its
/// own operations and bytes a second, every other kernel its bytes, and what a step takes beyond its kernels
/// the launch. Some ten seconds. Two ranks' direct all_gather of a small and a large buffer give a hop's
/// latency and bandwidth, the reduce_scatter beside it the cost of adding. Between nodes as inside: there is
/// one machine.
time::Profile measure_profile(const ProfileBench& bench, const run::Backends& backends);

}  // namespace meshscope::cli
