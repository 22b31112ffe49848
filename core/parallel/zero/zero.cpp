#include "core/parallel/zero/zero.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/parallel/fsdp1/fsdp1.h"
#include "core/parallel/gradient_norm.h"
#include "core/parallel/read_into.h"
#include "core/parallel/record_ownership.h"
#include "core/parallel/working_copies.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

Zero::Zero(const RankContext& context, nn::Model& model, ZeroStage stage, const ZeroOptions& options)
    : context_(context),
      model_(model),
      group_(*context.groups.at(0)),
      stage_(stage),
      precision_(options.precision) {
    make_buckets(options.bucket_cap_mb);
}

void Zero::make_buckets(const std::optional<double>& bucket_cap_mb) {
    std::vector<nn::Parameter*> arriving;  // backward reaches the last parameters first
    for (const auto& parameter : model_.all_parameters())
        if (!parameter->frozen) arriving.push_back(parameter.get());
    std::ranges::reverse(arriving);
    std::vector<int64_t> bytes;
    for (const nn::Parameter* parameter : arriving)
        bytes.push_back(tensor::count(parameter->shape) * bytes_per_element(precision_.reduce));

    // What two stages of a pipeline share is cut alike on both, whatever else they have: Megatron's rule
    // (param_and_grad_buffer.py, shared_embedding).
    const auto shared =
        std::ranges::find_if(arriving, [](const nn::Parameter* parameter) { return parameter->shared; });
    const auto alone = shared == arriving.end() ? -1 : static_cast<int32_t>(shared - arriving.begin());
    place_.resize(model_.all_parameters().size());
    for (const std::vector<int32_t>& positions :
         assign_buckets(bytes, BucketCaps::of(bucket_cap_mb), alone)) {
        Bucket bucket;
        bucket.name = "bucket " + std::to_string(buckets_.size());
        std::vector<int64_t> sizes;
        for (const int32_t position : positions) {
            nn::Parameter* parameter = arriving[static_cast<std::size_t>(position)];
            place_[static_cast<std::size_t>(parameter->index)] = {buckets_.size(), bucket.parameters.size()};
            bucket.parameters.push_back(parameter);
            sizes.push_back(tensor::count(parameter->shape));
        }
        bucket.layout = FlatLayout::of(sizes, 1, group_.size());
        bucket.pieces = bucket.layout.pieces(group_.rank().value);
        buckets_.push_back(std::move(bucket));
    }
}

void Zero::load(const InitialValues& values) {
    for (Bucket& bucket : buckets_) {
        read_values(bucket, values);
        record_flat_whole(context_, bucket.name, bucket.parameters, bucket.layout, group_.rank().value);
        const Tensor updated = bucket.master.defined() ? bucket.master : part_of(bucket);
        for (const FlatLayout::Piece& piece : bucket.pieces)
            local_.push_back({bucket.parameters[piece.parameter],
                              updated.slice(piece.first_in_shard, piece.elements), piece.first_in_parameter,
                              true});
    }
    load_frozen(values);
}

void Zero::load_frozen(const InitialValues& values) {
    for (const auto& parameter : model_.all_parameters()) {
        if (!parameter->frozen) continue;
        parameter->value = context_.allocator->empty(parameter->shape, precision_.param,
                                                     MemoryCategory::parameters, parameter->name);
        read_into(parameter->value, values, *parameter, 0);
        record_numbers(context_, "", *parameter, 0, tensor::count(parameter->shape), 0, false);
        local_.push_back({parameter.get(), parameter->value, 0, group_.rank() == GroupRank{0}});
    }
}

Tensor Zero::part_of(const Bucket& bucket) const {
    const int64_t part = bucket.layout.shard_elements();
    return bucket.values.slice(part * group_.rank().value, part);
}

void Zero::read_values(Bucket& bucket, const InitialValues& values) {
    const bool mixed = precision_.param != DType::float32;
    bucket.values = context_.allocator->zeros({bucket.layout.elements}, precision_.param,
                                              MemoryCategory::parameters, bucket.name + " parameters");
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
        nn::Parameter& parameter = *bucket.parameters[i];
        parameter.value =
            bucket.values.slice(bucket.layout.first[i], bucket.layout.sizes[i]).view(parameter.shape);
        if (!mixed) {
            read_into(parameter.value, values, parameter, 0);
            continue;
        }
        const Tensor exact = context_.allocator->empty(parameter.shape, DType::float32,
                                                       MemoryCategory::temporaries, parameter.name);
        read_into(exact, values, parameter, 0);
        const ComputeEvent event(context_.recorder, *context_.allocator, "cast", bucket.name);
        event->cast(parameter.value, exact);
    }
    if (!mixed) return;
    bucket.master = context_.allocator->zeros({bucket.layout.shard_elements()}, DType::float32,
                                              MemoryCategory::optimizer_state, bucket.name + " float32 part");
    for (const FlatLayout::Piece& piece : bucket.pieces)
        read_into(bucket.master.slice(piece.first_in_shard, piece.elements), values,
                  *bucket.parameters[piece.parameter], piece.first_in_parameter);
}

void Zero::before_forward(const Pass&) {
    for (Bucket& bucket : buckets_) bucket.waiting_for = bucket.parameters.size();
}

void Zero::attach(nn::Tape& tape) {
    tape.on_gradient_ready([this](nn::Parameter& parameter) { gradient_ready(parameter); });
}

void Zero::gradient_ready(nn::Parameter& parameter) {
    const auto [b, i] = place_[static_cast<std::size_t>(parameter.index)];
    Bucket& bucket = buckets_[b];
    if (!bucket.gradients.defined())  // zeros: micro-batches add to it, and the padding stays 0
        bucket.gradients = context_.allocator->zeros(
            {bucket.layout.elements}, precision_.reduce,
            stage_ == ZeroStage::optimizer ? MemoryCategory::gradients : MemoryCategory::communication,
            bucket.name + " gradients");
    const Tensor part = bucket.gradients.slice(bucket.layout.first[i], bucket.layout.sizes[i]);
    const float share = 1.0F / static_cast<float>(group_.size());
    if (parameter.grad.dtype() == DType::float32 && precision_.reduce == DType::float32) {
        const ComputeEvent event(context_.recorder, *context_.allocator, "flat.copy_in", bucket.name);
        event->axpy(part, share, parameter.grad.flat());
    } else {
        const Tensor fresh = cast_to(parameter.grad.flat(), precision_.reduce, MemoryCategory::temporaries,
                                     parameter.name + " grad", context_, bucket.name);
        const ComputeEvent event(context_.recorder, *context_.allocator, "flat.copy_in", bucket.name);
        event->scale(fresh, share);
        event->add(part, part, fresh);
    }
    parameter.grad = {};
    if (--bucket.waiting_for == 0 && stage_ == ZeroStage::gradients) scatter(bucket);
}

void Zero::scatter(Bucket& bucket) {
    if (on_its_way_) settle(*on_its_way_);
    bucket.scattered = context_.allocator->empty({bucket.layout.shard_elements()}, precision_.reduce,
                                                 MemoryCategory::gradients, bucket.name + " gradient part");
    if (context_.recorder)
        context_.recorder->depend(Stream::reduce_scatter, context_.recorder->last_event(Stream::compute));
    bucket.scatter =
        group_.reduce_scatter(bucket.scattered, bucket.gradients, ReduceOp::sum, {},
                              {.stream = Stream::reduce_scatter,
                               .cause = {stage_ == ZeroStage::optimizer ? "zero1.reduce_scatter.gradients"
                                                                        : "zero2.reduce_scatter.gradients",
                                         bucket.name},
                               .padding = bucket.layout.padding()});
    bucket.gradients = {};
    on_its_way_ = &bucket;
}

void Zero::settle(Bucket& bucket) {
    bucket.scatter.wait(Stream::reduce_scatter);
    bucket.scatter = {};
    if (!bucket.gradient_part.defined()) {
        bucket.gradient_part = std::move(bucket.scattered);
    } else {
        const ComputeEvent event(context_.recorder, *context_.allocator, "flat.accumulate", bucket.name,
                                 Stream::reduce_scatter);
        event->add(bucket.gradient_part, bucket.gradient_part, bucket.scattered);
    }
    bucket.scattered = {};
    on_its_way_ = nullptr;
}

void Zero::after_backward(const Pass& pass) {
    for (Bucket& bucket : buckets_)
        if (bucket.waiting_for > 0)
            throw InvalidArgument({"ddp.bucket_incomplete", {{"bucket", bucket.name}}});
    if (stage_ == ZeroStage::optimizer && pass.last)
        for (Bucket& bucket : buckets_) scatter(bucket);
    if (on_its_way_) settle(*on_its_way_);
    if (context_.recorder)
        context_.recorder->depend(Stream::compute, context_.recorder->last_event(Stream::reduce_scatter));
    if (!pass.last) return;
    for (Bucket& bucket : buckets_)
        bucket.gradient_part = cast_to(bucket.gradient_part, DType::float32, MemoryCategory::gradients,
                                       bucket.name + " gradient part", context_, bucket.name);
}

std::vector<Tensor> Zero::gradients() const {
    std::vector<Tensor> gradients;
    for (const Bucket& bucket : buckets_)
        for (const FlatLayout::Piece& piece : bucket.pieces)
            gradients.push_back(bucket.gradient_part.slice(piece.first_in_shard, piece.elements));
    gradients.resize(local_.size());  // frozen ones have none
    return gradients;
}

double Zero::gradient_norm() {
    return sharded_gradient_norm(gradients(), local_, &group_, "zero.grad_norm.all_reduce", context_);
}

void Zero::after_step() {
    for (Bucket& bucket : buckets_) {
        bucket.gradient_part = {};
        if (!bucket.master.defined()) continue;
        const ComputeEvent event(context_.recorder, *context_.allocator, "cast", bucket.name);
        event->cast(part_of(bucket), bucket.master);
    }
    gather_parameters();
}

void Zero::gather_parameters() {
    if (context_.recorder)
        context_.recorder->depend(Stream::all_gather, context_.recorder->last_event(Stream::compute));
    std::vector<comm::Work> gathers;
    const int64_t rank = group_.rank().value;
    for (const Bucket& bucket : buckets_)
        gathers.push_back(group_.all_gather(bucket.values, part_of(bucket), {},
                                            {.stream = Stream::all_gather,
                                             .cause = {"zero.all_gather.parameters", bucket.name},
                                             .padding = bucket.layout.padding_of(rank)}));
    for (comm::Work& gather : gathers) gather.wait();
}

std::unique_ptr<Strategy> make_zero(const RankContext& context, nn::Model& model, ZeroStage stage,
                                    const ZeroOptions& options) {
    if (stage != ZeroStage::parameters) return std::make_unique<Zero>(context, model, stage, options);
    Fsdp1Options flat = options.units;
    flat.strategy = ShardingStrategy::full_shard;
    flat.use_orig_params = false;
    flat.free_root = flat.reduce_each_microbatch = flat.zero_names = true;
    return std::make_unique<Fsdp1>(context, model, std::move(flat));
}

}  // namespace meshscope::parallel
