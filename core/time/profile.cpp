#include "core/time/profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace meshscope::time {

Profile classroom() {
    Profile profile;
    profile.name = "classroom";
    profile.flops_per_s = 100e6;
    profile.memory_bytes_per_s = 1e9;  // ten bytes a FLOP: matrix products are bound by FLOPs even at batch 2
    profile.launch_ns = 0;
    profile.latency_inside_ns = 2000;
    profile.latency_between_ns = 3000;
    profile.bandwidth_inside_bytes_per_s = 100e6;
    profile.bandwidth_between_bytes_per_s = 100e6;
    return profile;
}

void check(const Profile& profile) {
    const auto refuse = [&profile](const char* key) {
        throw InvalidArgument({"time.bad_profile", {{"profile", profile.name}, {"key", std::string(key)}}});
    };
    const std::pair<const char*, double> speeds[] = {
        {"flops_per_s", profile.flops_per_s},
        {"memory_bytes_per_s", profile.memory_bytes_per_s},
        {"bandwidth_inside_bytes_per_s", profile.bandwidth_inside_bytes_per_s},
        {"bandwidth_between_bytes_per_s", profile.bandwidth_between_bytes_per_s}};
    for (const auto& [key, speed] : speeds) {
        if (!(speed > 0.0) || !std::isfinite(speed)) refuse(key);
    }
    const std::pair<const char*, int64_t> waits[] = {{"launch_ns", profile.launch_ns},
                                                     {"latency_inside_ns", profile.latency_inside_ns},
                                                     {"latency_between_ns", profile.latency_between_ns}};
    for (const auto& [key, wait] : waits) {
        if (wait < 0) refuse(key);
    }
}

int64_t transfer_ns(int64_t bytes, double bytes_per_s) {
    // Multiplied before divided, in long double: a quotient that is a whole number comes out whole, so ceil
    // adds nothing.
    const long double ns = 1e9L * static_cast<long double>(bytes) / static_cast<long double>(bytes_per_s);
    return static_cast<int64_t>(std::ceil(ns));
}

int64_t compute_ns(const Profile& profile, int64_t flops, int64_t touched_bytes) {
    return profile.launch_ns + std::max(transfer_ns(flops, profile.flops_per_s),
                                        transfer_ns(touched_bytes, profile.memory_bytes_per_s));
}

int64_t hop_ns(const Profile& profile, int64_t bytes, bool between_nodes) {
    return between_nodes
               ? profile.latency_between_ns + transfer_ns(bytes, profile.bandwidth_between_bytes_per_s)
               : profile.latency_inside_ns + transfer_ns(bytes, profile.bandwidth_inside_bytes_per_s);
}

}  // namespace meshscope::time
