#pragma once

#include <cstdint>
#include <vector>

#include "core/time/clock.h"
#include "tests/test.h"

namespace meshscope::test {

/// 1 FLOP = 1 ns, 1 byte in memory = 1 ns, a hop 100 ns + 2 ns a byte inside a node, 300 ns + 4 ns a byte
/// between.
inline time::Profile simple(int64_t launch_ns = 0) {
    time::Profile profile;
    profile.name = "simple";
    profile.flops_per_s = 1e9;
    profile.memory_bytes_per_s = 1e9;
    profile.launch_ns = launch_ns;
    profile.latency_inside_ns = 100;
    profile.latency_between_ns = 300;
    profile.bandwidth_inside_bytes_per_s = 5e8;
    profile.bandwidth_between_bytes_per_s = 2.5e8;
    return profile;
}

inline std::vector<int32_t> first_ranks(int32_t p) {
    std::vector<int32_t> ranks;
    for (int32_t r = 0; r < p; ++r) ranks.push_back(r);
    return ranks;
}

inline void check_interval(const time::Interval& interval, int64_t begin_ns, int64_t end_ns) {
    CHECK(interval.begin_ns == begin_ns);
    CHECK(interval.end_ns == end_ns);
}

}  // namespace meshscope::test
