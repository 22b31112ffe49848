// DDP with uneven inputs: torch/distributed/algorithms/join.py and _DDPJoinHook in
// torch/nn/parallel/distributed.py.
#include <algorithm>

#include "core/parallel/ddp/ddp.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

Tensor one_number(const RankContext& context, float value, std::string_view label) {
    const Tensor number = context.allocator->empty({1}, DType::float32, MemoryCategory::communication, label);
    context.allocator->device().kernels().upload(number, {&value, 1});
    return number;
}

}  // namespace

comm::Work Ddp::count_active(float mine) {
    active_ = one_number(context_, mine, "Join active ranks");
    return group_.all_reduce(active_, ReduceOp::sum,
                             {.stream = Stream::all_reduce, .cause = {"ddp.join.active", "model"}});
}

comm::Work Ddp::tell_sync(float mine) {
    sync_flag_ = one_number(context_, mine, "Join gradients travel");
    return group_.all_reduce(sync_flag_, ReduceOp::sum,
                             {.stream = Stream::all_reduce, .cause = {"ddp.join.sync", "model"}});
}

void Ddp::shadow(const Pass& pass) {
    if (context_.recorder) {
        context_.recorder->set_microbatch(pass.microbatch);
        context_.recorder->set_phase(Phase::forward);
    }
    count_active(0).wait();
    if (!rebuilt_ && !arrival_.empty()) rebuild_buckets();
    tell_sync(0).wait();
    if (!pass.last) return;  // what the numbers say: all ranks accumulate alike
    if (context_.recorder) context_.recorder->set_phase(Phase::backward);
    for (Bucket& bucket : buckets_) {
        context_.allocator->device().kernels().zero(bucket.flat);
        launch(bucket);
    }
    if (is_dynamic()) reduce_used_map();
    for (Bucket& bucket : buckets_) wait_for(bucket);
    if (used_work_.valid()) used_work_.wait();
    forget_used();
    // A rank that never computed names the parameters' own order; rank 0's counts.
    if (!rebuilt_ && cuts_anew() && arrival_.empty()) arrival_ = trained_;
}

void Ddp::finish(bool had_batch, GroupRank last_joiner) {
    if (!options_.join) return;
    count_active(0).wait();  // 0 everywhere: nobody has a batch
    const Tensor rank =
        context_.allocator->empty({1}, DType::int64, MemoryCategory::communication, "Join last rank");
    tensor::fill_numbers<int64_t>(
        rank, [&](std::span<int64_t> mine) { mine[0] = had_batch ? group_.rank().value : -1; });
    group_.all_reduce(
        rank, ReduceOp::max,
        {.stream = Stream::all_reduce, .cause = {"ddp.join.last_rank", "model"}, .async_op = false});
    const int64_t root = std::max<int64_t>(tensor::HostNumbers<int64_t>(rank)[0], last_joiner.value);
    broadcast_parameters(GroupRank{static_cast<int32_t>(root)}, "ddp.join.final_model");
}

}  // namespace meshscope::parallel
