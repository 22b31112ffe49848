#pragma once

#include <cstdint>

#include "core/time/profile.h"

namespace meshscope::estimate {

/// GPUs in nodes, as a profile describes them, computing in bfloat16. Times in seconds.
class Machine {
  public:
    /// `speed` is a factor on the profile's speed of matrix products and attention: the one figure that is
    /// fitted to measured runs.
    Machine(const time::Profile& profile, int64_t gpus_per_node, double speed = 1);

    int64_t gpus_per_node() const { return gpus_per_node_; }
    /// Of the generation whose tensor cores only warp-specialised kernels feed: H100 and later.
    bool hopper() const { return hopper_; }

    /// (m, k) · (k, n), `batch` times in one kernel.
    double product_s(double m, double n, double k, double batch = 1) const;
    /// A flash kernel that reaches `share` of what matrix products do.
    double attention_s(double flops, double share) const;
    /// A kernel that reads and writes so many bytes and computes next to nothing.
    double elementwise_s(double bytes) const;

    /// A ring all_gather or reduce_scatter of `bytes`, the whole, over `ranks` that stand `stride` apart. As
    /// many such groups as fit into the stride do the same at the same time.
    double gather_s(double bytes, int64_t ranks, int64_t stride) const;
    /// The same twice: an all_reduce.
    double all_reduce_s(double bytes, int64_t ranks, int64_t stride) const {
        return 2 * gather_s(bytes, ranks, stride);
    }
    /// From one rank to one that stands `stride` further.
    double send_s(double bytes, int64_t stride) const;

  private:
    double inside_bytes_per_s() const;
    double between_bytes_per_s() const;

    time::Profile profile_;
    int64_t gpus_per_node_;
    bool hopper_;
};

}  // namespace meshscope::estimate
