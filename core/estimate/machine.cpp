#include "core/estimate/machine.h"

#include <algorithm>
#include <cmath>

namespace meshscope::estimate {
namespace {

/// What kernels reach of the memory's speed on the data sheet, collectives of a link's: 0.8 and 0.85 are what
/// STREAM and nccl-tests commonly show; inside a node protocol and reduction cost a little more.
constexpr double kMemoryShare = 0.8, kInsideShare = 0.78, kBetweenShare = 0.85;
/// Opening a collective, and each doubling of its ranks: NCCL's measured small-message times.
constexpr double kOpenInside = 6e-6, kDoublingInside = 3e-6;
constexpr double kOpenBetween = 12e-6, kDoublingBetween = 5e-6;

/// Between A100 (312 TFLOP/s on the data sheet) and H100 (989).
constexpr double kBeforeHopper = 400e12;

double seconds(int64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

}  // namespace

Machine::Machine(const time::Profile& profile, int64_t gpus_per_node, double speed)
    : profile_(profile),
      gpus_per_node_(gpus_per_node),
      // a fitted speed leaves the data sheet's peak
      hopper_(std::max(profile.bfloat16_flops_per_s, profile.bfloat16_peak_flops_per_s) > kBeforeHopper) {
    profile_.flops_per_s *= speed;
    profile_.bfloat16_flops_per_s *= speed;
    profile_.memory_bytes_per_s *= kMemoryShare;
    profile_.attention_share = 1;  // attention_s() is told the share of its own kernel
}

double Machine::product_s(double m, double n, double k, double batch) const {
    return seconds(time::compute_ns(profile_, "linear", DType::bfloat16, std::llround(2 * m * n * k * batch),
                                    std::llround(2 * batch * (m * k + k * n + m * n))));
}

double Machine::attention_s(double flops, double share) const {
    return seconds(time::compute_ns(profile_, "attention", DType::bfloat16, std::llround(flops / share), 0));
}

double Machine::elementwise_s(double bytes) const {
    return seconds(time::compute_ns(profile_, 0, std::llround(bytes)));
}

double Machine::inside_bytes_per_s() const {
    return profile_.bandwidth_inside_bytes_per_s * kInsideShare;
}

double Machine::between_bytes_per_s() const {
    const double own = profile_.bandwidth_between_bytes_per_s;
    const double shared = profile_.node_bytes_per_s / static_cast<double>(gpus_per_node_);
    return kBetweenShare * (profile_.node_bytes_per_s > 0 ? std::min(own, shared) : own);
}

double Machine::gather_s(double bytes, int64_t ranks, int64_t stride) const {
    if (ranks <= 1) return 0;
    const double moved = bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    const double doublings = std::log2(static_cast<double>(ranks));
    if (ranks * stride <= gpus_per_node_)
        return moved / inside_bytes_per_s() + kOpenInside + kDoublingInside * doublings;
    // Of the group's ranks on a node each has an adapter, and NCCL's rings use them all.
    const int64_t on_node = std::clamp<int64_t>(gpus_per_node_ / stride, 1, ranks);
    const double speed = std::min(inside_bytes_per_s(), between_bytes_per_s() * static_cast<double>(on_node));
    const double nodes = static_cast<double>(ranks) / static_cast<double>(on_node);
    return moved / speed + kOpenBetween + kDoublingBetween * doublings +
           seconds(profile_.latency_between_ns) * nodes;
}

double Machine::send_s(double bytes, int64_t stride) const {
    const bool between = stride >= gpus_per_node_;
    return bytes / (between ? between_bytes_per_s() : inside_bytes_per_s()) +
           (between ? kOpenBetween : kOpenInside);
}

}  // namespace meshscope::estimate
