#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace meshscope::parallel {

inline constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;  ///< reducer.hpp: kDefaultFirstBucketBytes
inline constexpr int64_t kBucketBytesCap = int64_t{25} << 20;   ///< kDefaultBucketBytesCap

/// DDP's bucket caps in bytes: {1 MiB, 25 MiB} by default; a given cap replaces both, as int(cap_mb · 2^20).
struct BucketCaps {
    int64_t first = kFirstBucketBytes;
    int64_t rest = kBucketBytesCap;
    static BucketCaps of(std::optional<double> bucket_cap_mb);
};

/// Cuts parameters, given in the order their gradients arrive, into buckets. A bucket closes when it reaches
/// its cap, so it may exceed it. Returns positions into `bytes`, one list a bucket. Source:
/// torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
///
/// Example: ten Linear(1024,1024), arriving from the last, fill buckets of 4,198,400, 29,388,800 and
/// 8,396,800 bytes. The parameter at position `alone` gets a bucket of its own; -1: none does.
std::vector<std::vector<int32_t>> assign_buckets(std::span<const int64_t> bytes, BucketCaps caps,
                                                 int32_t alone = -1);

}  // namespace meshscope::parallel
