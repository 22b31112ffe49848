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
    if (!(profile.attention_share > 0) || !std::isfinite(profile.attention_share)) refuse("attention_share");
    const std::pair<const char*, double> may_be_0[] = {
        {"bfloat16_flops_per_s", profile.bfloat16_flops_per_s},
        {"bfloat16_peak_flops_per_s", profile.bfloat16_peak_flops_per_s},
        {"float16_flops_per_s", profile.float16_flops_per_s},
        {"tf32_flops_per_s", profile.tf32_flops_per_s},
        {"fp8_flops_per_s", profile.fp8_flops_per_s},
        {"half_speed_flops", profile.half_speed_flops},
        {"memory_bytes", static_cast<double>(profile.memory_bytes)},
        {"node_bytes_per_s", profile.node_bytes_per_s},
        {"reduce_bytes_per_s", profile.reduce_bytes_per_s}};
    for (const auto& [key, speed] : may_be_0) {
        if (!(speed >= 0.0) || !std::isfinite(speed)) refuse(key);
    }
    for (const auto& [kernel, speed] : profile.kernels) {
        for (const double each : {speed.flops_per_s, speed.bytes_per_s})
            if (!(each >= 0.0) || !std::isfinite(each)) refuse(kernel.c_str());
    }
    const std::pair<const char*, int64_t> waits[] = {{"launch_ns", profile.launch_ns},
                                                     {"latency_inside_ns", profile.latency_inside_ns},
                                                     {"latency_between_ns", profile.latency_between_ns},
                                                     {"node_ranks", profile.node_ranks}};
    for (const auto& [key, wait] : waits) {
        if (wait < 0) refuse(key);
    }
}

// A record from elsewhere may claim any number of bytes: thousands of such calls must still add up.
constexpr int64_t kLongestNs = int64_t{1} << 50;

// One kernel of a large model on slow hardware takes longer; a replay adds up to kEndOfTimeNs at most.
constexpr int64_t kLongestComputeNs = int64_t{1} << 58;

namespace {

int64_t longest_ns(int64_t amount, double a_second, int64_t most_ns) {
    // Multiplied before divided, in long double: a quotient that is a whole number comes out whole, so ceil
    // adds nothing.
    const long double ns = 1e9L * static_cast<long double>(amount) / static_cast<long double>(a_second);
    return static_cast<int64_t>(std::min(std::ceil(ns), static_cast<long double>(most_ns)));
}

}  // namespace

int64_t transfer_ns(int64_t bytes, double bytes_per_s) {
    return longest_ns(bytes, bytes_per_s, kLongestNs);
}

int64_t compute_ns(const Profile& profile, int64_t flops, int64_t touched_bytes) {
    return profile.launch_ns +
           std::max(longest_ns(flops, profile.flops_per_s, kLongestComputeNs),
                    longest_ns(touched_bytes, profile.memory_bytes_per_s, kLongestComputeNs));
}

bool is_product(std::string_view kernel) {
    return kernel.starts_with("linear") || (kernel.starts_with("attention") && kernel != "attention.merge");
}

double peak_flops_per_s(const Profile& profile, std::string_view kernel, DType dtype) {
    if (dtype != DType::bfloat16 && dtype != DType::float16)
        return profile.tf32 && profile.tf32_flops_per_s > 0 && is_product(kernel) ? profile.tf32_flops_per_s
                                                                                  : profile.flops_per_s;
    double peak = dtype == DType::float16 ? profile.float16_flops_per_s : 0;
    if (peak == 0) peak = profile.bfloat16_flops_per_s;
    if (peak == 0) return profile.flops_per_s;
    return kernel.starts_with("attention") && is_product(kernel) ? peak * profile.attention_share : peak;
}

int64_t compute_ns(const Profile& profile, std::string_view kernel, DType dtype, int64_t flops,
                   int64_t touched_bytes) {
    constexpr std::string_view kAgain = ".recompute";  // trace::Recorder::set_recompute
    if (kernel.ends_with(kAgain)) kernel.remove_suffix(kAgain.size());
    double flops_per_s = peak_flops_per_s(profile, kernel, dtype), bytes_per_s = profile.memory_bytes_per_s;
    const auto ramp = is_product(kernel) ? static_cast<int64_t>(profile.half_speed_flops) : int64_t{0};
    if (const auto own = profile.kernels.find(std::string(kernel)); own != profile.kernels.end()) {
        if (own->second.flops_per_s > 0) flops_per_s = own->second.flops_per_s;
        if (own->second.bytes_per_s > 0) bytes_per_s = own->second.bytes_per_s;
    }
    return profile.launch_ns + std::max(longest_ns(flops + ramp, flops_per_s, kLongestComputeNs),
                                        longest_ns(touched_bytes, bytes_per_s, kLongestComputeNs));
}

int64_t hop_ns(const Profile& profile, int64_t bytes, Link link, bool reduces) {
    const int64_t sums =
        reduces && profile.reduce_bytes_per_s > 0 ? transfer_ns(bytes, profile.reduce_bytes_per_s) : 0;
    if (!link.between_nodes)
        return profile.latency_inside_ns + transfer_ns(bytes, profile.bandwidth_inside_bytes_per_s) + sums;
    double bandwidth = profile.bandwidth_between_bytes_per_s;
    if (profile.node_bytes_per_s > 0)
        bandwidth = std::min(bandwidth, profile.node_bytes_per_s / std::max(link.sharers, 1));
    return profile.latency_between_ns + transfer_ns(bytes, bandwidth) + sums;
}

}  // namespace meshscope::time
