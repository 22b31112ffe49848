#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/parallel/ddp/options.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// A bucket that is full: torch.distributed.GradBucket.
struct FullBucket {
    std::size_t index = 0;
    bool is_last = false;  ///< of this backward
    std::string name;
    Tensor flat;                    ///< all of its gradients, not divided yet
    std::vector<Tensor> gradients;  ///< views of `flat`, each shaped as its parameter
};

/// What stands in for the reducer's own all_reduce of a bucket (register_comm_hook). Buckets come in order of
/// their index, the same on every rank.
class CommHook {
  public:
    virtual ~CommHook() = default;
    /// Begins the reduction of a bucket that compute has filled.
    virtual void launch(const FullBucket& bucket) = 0;
    /// Leaves the averaged gradients in bucket.flat; what follows on the compute stream may read them.
    virtual void finish(const FullBucket& bucket) = 0;
};

/// The hook that `options` names, over `group`; null for DdpHook::none. Bytes a rank sends a step (N
/// elements of float32, p ranks, ring): allreduce, in the buckets' own type, 2(p-1)/p · 4N; fp16_compress and
/// bf16_compress half of that; powersgd see powersgd.h. Source:
/// torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py.
std::unique_ptr<CommHook> make_hook(const DdpOptions& options, const RankContext& context,
                                    comm::ProcessGroup& group);

}  // namespace meshscope::parallel
