// The backward side of DDP: from a gradient that is ready to averaged gradients. PyTorch's reducer.cpp:
// autograd_hook, mark_variable_ready, all_reduce_bucket, delay_all_reduce, finalize_backward.
#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/parallel/ddp/ddp.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

void Ddp::before_forward(const Pass& pass) {
    sync_ = pass.last;
    if (options_.join) active_work_ = count_active(1);
    if (!rebuilt_ && !arrival_.empty()) rebuild_buckets();
    if (options_.join) tell_sync(pass.last ? 1 : 0);
    if (buffers_differ_) broadcast_buffers();
    buffers_differ_ = pass.last;
    if (sync_) prepare_backward();
}

void Ddp::before_backward(const Pass& pass) {
    sync_ = pass.last;
    if (sync_) prepare_backward();
}

void Ddp::prepare_backward() {
    next_to_launch_ = 0;
    for (Bucket& bucket : buckets_) bucket.waiting_for = static_cast<int32_t>(bucket.parameters.size());
}

void Ddp::attach(nn::Tape& tape) {
    if (sync_)
        tape.on_gradient_ready([this](nn::Parameter& parameter) { gradient_ready(parameter); });
    else if (copies_.active())
        tape.on_gradient_ready([this](nn::Parameter& parameter) { copies_.keep(parameter); });
    else if (tracks_used())
        tape.on_gradient_ready([this](nn::Parameter& parameter) { used(parameter) = 1; });
}

void Ddp::gradient_ready(nn::Parameter& parameter) {
    used(parameter) = 1;
    if (static_pending_) return;
    if (!rebuilt_ && cuts_anew()) arrival_.push_back(&parameter);
    copy_in(parameter);
    mark_ready(parameter);
    launch_full_buckets();
}

Tensor Ddp::part_of(const nn::Parameter& parameter) const {
    const auto [b, i] = place_[static_cast<std::size_t>(parameter.index)];
    const Bucket& bucket = buckets_[static_cast<std::size_t>(b)];
    return bucket.flat.slice(bucket.first[static_cast<std::size_t>(i)], tensor::count(parameter.shape))
        .view(parameter.shape);
}

float Ddp::divisor() {
    if (!options_.join || options_.divide_by_initial_world_size) return static_cast<float>(group_.size());
    active_work_.wait();
    float active = 0;
    context_.allocator->device().kernels().download({&active, 1}, active_);
    return std::max(active, 1.0F);  // a dry run's number says nothing
}

void Ddp::copy_in(nn::Parameter& parameter) {
    const tensor::Kernels& kernels = context_.allocator->device().kernels();
    const Tensor part = part_of(parameter);
    const Tensor grad = copies_.active() ? copies_.take(parameter) : parameter.grad;
    if (!grad.defined()) {
        kernels.zero(part);
        return;
    }
    const std::string& bucket =
        buckets_[static_cast<std::size_t>(place_[static_cast<std::size_t>(parameter.index)].first)].name;
    const ComputeEvent event(context_.recorder, *context_.allocator, "ddp.copy_to_bucket", bucket);
    event->copy(part.flat(), grad.flat());
    if (!hook_) event->scale(part, 1.0F / divisor());
    if (options_.gradient_as_bucket_view) parameter.grad = part;
}

void Ddp::mark_ready(const nn::Parameter& parameter) {
    --buckets_[static_cast<std::size_t>(place_[static_cast<std::size_t>(parameter.index)].first)].waiting_for;
}

void Ddp::launch_full_buckets() {
    while (next_to_launch_ < buckets_.size() && buckets_[next_to_launch_].waiting_for == 0)
        launch(buckets_[next_to_launch_++]);
    if (next_to_launch_ == buckets_.size() && is_dynamic() && !used_work_.valid()) reduce_used_map();
}

FullBucket Ddp::full(const Bucket& bucket) const {
    FullBucket full{bucket.index, bucket.index + 1 == buckets_.size(), bucket.name, bucket.flat, {}};
    for (const nn::Parameter* parameter : bucket.parameters) full.gradients.push_back(part_of(*parameter));
    return full;
}

void Ddp::launch(Bucket& bucket) {
    if (hook_) return hook_->launch(full(bucket));
    if (context_.recorder)
        context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
    bucket.work =
        group_.all_reduce(bucket.flat, ReduceOp::sum,
                          {.stream = Stream::all_reduce, .cause = {"ddp.bucket.all_reduce", bucket.name}});
}

void Ddp::reduce_used_map() {
    used_map_ = context_.allocator->empty({static_cast<int64_t>(used_.size())}, DType::int32,
                                          MemoryCategory::communication, "DDP used parameters");
    tensor::fill_numbers<int32_t>(used_map_,
                                  [&](std::span<int32_t> mine) { std::ranges::copy(used_, mine.begin()); });
    used_work_ = group_.all_reduce(
        used_map_, ReduceOp::sum,
        {.stream = Stream::all_reduce, .cause = {"ddp.used_parameters.all_reduce", "model"}});
}

void Ddp::add_unused() {
    for (nn::Parameter* const parameter : trained_) {
        if (used(*parameter) != 0 && !static_pending_) continue;
        if (!static_pending_ && !rebuilt_ && cuts_anew()) arrival_.push_back(parameter);
        copy_in(*parameter);
        mark_ready(*parameter);
    }
    launch_full_buckets();
}

void Ddp::after_backward(const Pass&) {
    if (!sync_) return;
    if (static_pending_) reduce_used_map();
    if (tracks_used()) add_unused();
    if (next_to_launch_ < buckets_.size())
        throw InvalidArgument({"ddp.bucket_incomplete", {{"bucket", buckets_[next_to_launch_].name}}});
    for (Bucket& bucket : buckets_) finish_bucket(bucket);
    forget_used();
    static_pending_ = false;
}

void Ddp::wait_for(Bucket& bucket) {
    if (hook_) return hook_->finish(full(bucket));
    bucket.work.wait();
    bucket.work = {};
}

void Ddp::finish_bucket(Bucket& bucket) {
    wait_for(bucket);
    if (used_work_.valid()) used_work_.wait();
    std::optional<tensor::HostNumbers<int32_t>> used_anywhere;
    // A static graph in which everything is used has no map.
    if (tracks_used() && used_map_.defined()) used_anywhere.emplace(used_map_);
    const auto unused_everywhere = [&](const nn::Parameter& parameter) {
        const std::size_t number = number_[static_cast<std::size_t>(parameter.index)];
        return used_anywhere && used_[number] == 0 && (*used_anywhere)[number] == 0;
    };
    std::vector<nn::Parameter*> to_copy;
    for (nn::Parameter* parameter : bucket.parameters) {
        if (unused_everywhere(*parameter)) continue;
        if (options_.gradient_as_bucket_view) {
            parameter->grad = part_of(*parameter);
            continue;
        }
        if (!parameter->grad.defined())  // another rank used it, or it was freed as it entered
            parameter->grad = context_.allocator->empty(parameter->shape, copies_.precision().stored,
                                                        MemoryCategory::gradients, parameter->name + " grad");
        to_copy.push_back(parameter);
    }
    if (to_copy.empty()) return;
    const ComputeEvent event(context_.recorder, *context_.allocator, "ddp.copy_from_bucket", bucket.name);
    for (nn::Parameter* parameter : to_copy) {
        const Tensor part = part_of(*parameter);
        if (part.dtype() == parameter->grad.dtype())
            event->copy(parameter->grad.flat(), part.flat());
        else
            event->cast(parameter->grad.flat(), part.flat());
    }
}

void Ddp::forget_used() {
    used_work_ = {};
    if (!is_dynamic()) return;  // a static graph's map stays
    std::ranges::fill(used_, 0);
    used_map_ = {};
}

}  // namespace meshscope::parallel
