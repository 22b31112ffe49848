#pragma once

#include <cstdint>
#include <string>

namespace meshscope::time {

/// Speeds that recorded work is re-timed under. Kinds of link: inside a node and between nodes.
struct Profile {
    std::string name;
    double flops_per_s = 0;
    double memory_bytes_per_s = 0;
    int64_t launch_ns = 0;                                  ///< opens each compute event and each collective
    int64_t latency_inside_ns = 0, latency_between_ns = 0;  ///< a hop
    double bandwidth_inside_bytes_per_s = 0, bandwidth_between_bytes_per_s = 0;
};

/// The slow profile of lessons: its times can be followed by eye. A hop takes 2 µs inside a node, 3 µs
/// between nodes, and 100 MB/s in both cases, so 55 float32 take 4.2 µs and 5.2 µs; the 400 FLOPs of a
/// (2,10)·(10,10) product take 4 µs. Launching costs nothing: a bar is its formula and no more.
Profile classroom();

/// Throws InvalidArgument ("time.bad_profile": profile, key) unless every speed is positive and finite and no
/// latency is negative.
void check(const Profile& profile);

/// ⌈10^9·bytes/bytes_per_s⌉: whole nanoseconds, rounded up; exact quotients stay exact.
int64_t transfer_ns(int64_t bytes, double bytes_per_s);

/// launch + max(flops / flops_per_s, touched_bytes / memory_bytes_per_s), each rounded up to a nanosecond.
int64_t compute_ns(const Profile& profile, int64_t flops, int64_t touched_bytes);

/// One hop: latency + bytes / bandwidth (the α + n·β of the literature), by the kind of link.
int64_t hop_ns(const Profile& profile, int64_t bytes, bool between_nodes);

}  // namespace meshscope::time
