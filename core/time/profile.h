#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/kinds.h"

namespace meshscope::time {

/// How fast one kernel runs where the general speeds do not tell. 0: the general one.
struct KernelSpeed {
    double flops_per_s = 0;
    double bytes_per_s = 0;
};

/// Speeds that recorded work is re-timed under. Kinds of link: inside a node and between nodes.
/// docs/profile.md tells each by its key in a file.
struct Profile {
    std::string name;
    double flops_per_s = 0;  ///< the most that large float32 products reach
    double memory_bytes_per_s = 0;
    int64_t memory_bytes = 0;  ///< what a GPU holds, as PyTorch sees it; 0: not known
    int64_t launch_ns = 0;                                  ///< opens each compute event and each collective
    int64_t latency_inside_ns = 0, latency_between_ns = 0;  ///< a hop
    double bandwidth_inside_bytes_per_s = 0, bandwidth_between_bytes_per_s = 0;
    double bfloat16_flops_per_s = 0;  ///< the same for bfloat16; 0: as float32
    /// bfloat16 on the GPU's data sheet, before `efficiency`: what a model FLOPs utilisation is a part of.
    /// 0: the file states no peak apart from what products reach.
    double bfloat16_peak_flops_per_s = 0;
    double float16_flops_per_s = 0;   ///< 0: as bfloat16
    double tf32_flops_per_s = 0;      ///< float32 products in TensorFloat-32; 0: there is none
    double fp8_flops_per_s = 0;       ///< 8-bit floats; 0: there are none
    bool tf32 = false;  ///< float32 products run in TF32 (torch.set_float32_matmul_precision("high"))
    /// How fast attention's kernels are beside large products, in the dtypes of 16 bits.
    double attention_share = 1;
    int32_t node_ranks = 0;  ///< a machine's devices; 0: not known
    /// A matrix product of this many operations runs at half that speed: f operations take (f + this) /
    /// speed.
    double half_speed_flops = 0;
    /// All links of a node to others together, each way, shared evenly by the groups that cross at the same
    /// time (those of one mesh dim); 0: every rank has its own link.
    double node_bytes_per_s = 0;
    double reduce_bytes_per_s = 0;  ///< adding received numbers to one's own, 1/γ; 0: costs nothing
    bool overlap = true;            ///< false: a rank's collectives take the core its compute needs
    std::map<std::string, KernelSpeed> kernels;  ///< by the event's name: "gelu_tanh"
};

/// The slow profile of lessons: its times can be followed by eye. A hop takes 2 µs inside a node, 3 µs
/// between nodes, and 100 MB/s in both cases, so 55 float32 take 4.2 µs and 5.2 µs; the 400 FLOPs of a
/// (2,10)·(10,10) product take 4 µs. Launching costs nothing: a bar is its formula and no more.
Profile classroom();

/// Throws InvalidArgument ("time.bad_profile": profile, key) unless every speed is positive and finite (those
/// that may be 0, 0 or more) and no latency is negative.
void check(const Profile& profile);

/// ⌈10^9·bytes/bytes_per_s⌉: whole nanoseconds, rounded up; exact quotients stay exact. At most 2^50 ns, 13
/// days, which only a made-up record reaches.
int64_t transfer_ns(int64_t bytes, double bytes_per_s);

/// The latest that anything on the modelled clock ends: 73 years.
inline constexpr int64_t kEndOfTimeNs = int64_t{1} << 61;

/// launch + max(flops / flops_per_s, touched_bytes / memory_bytes_per_s), each rounded up to a nanosecond and
/// at most 2^58 ns, 9 years.
int64_t compute_ns(const Profile& profile, int64_t flops, int64_t touched_bytes);

/// Whether a kernel's time goes into matrix products: "linear…", "attention…" but for "attention.merge",
/// which adds up the parts of a cut sequence.
bool is_product(std::string_view kernel);

/// Operations a second of a kernel's large calls in a dtype: the dtype's peak, float32 products in TF32 where
/// the profile says so, attention in 16 bits at its share; not a kernel's own speed.
double peak_flops_per_s(const Profile& profile, std::string_view kernel, DType dtype);

/// The same for a kernel by its name and dtype: products ("linear…", "attention…") with their ramp, others by
/// their own speeds where the profile has them. What runs again ("linear.recompute") is as fast as at first.
int64_t compute_ns(const Profile& profile, std::string_view kernel, DType dtype, int64_t flops,
                   int64_t touched_bytes);

/// Of which link a hop is.
struct Link {
    bool between_nodes = false;
    int32_t sharers = 1;  ///< groups that cross this node's links at the same time
};

/// One hop: latency + bytes / bandwidth (the α + n·β of the literature), and the sums of what it adds (n·γ)
/// when `reduces`.
int64_t hop_ns(const Profile& profile, int64_t bytes, Link link, bool reduces = false);
inline int64_t hop_ns(const Profile& profile, int64_t bytes, bool between_nodes) {
    return hop_ns(profile, bytes, Link{between_nodes, 1});
}

}  // namespace meshscope::time
