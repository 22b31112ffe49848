#include "core/parallel/ddp/ddp.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/parallel/record_ownership.h"
#include "core/parallel/whole_parameters.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

constexpr int64_t kBroadcastBytes = int64_t{250} << 20;  // distributed.py: broadcast_bucket_size

/// Sizes and strides of each parameter in order: what DDP compares before it trusts the ranks to hold one
/// model.
std::vector<int64_t> signature(const std::vector<nn::Parameter*>& parameters) {
    std::vector<int64_t> numbers;
    for (const nn::Parameter* const parameter : parameters) {
        const nn::Shape& shape = parameter->shape;
        numbers.insert(numbers.end(), shape.begin(), shape.end());
        int64_t stride = 1;
        std::vector<int64_t> strides(shape.size());
        for (std::size_t d = shape.size(); d-- > 0;) {
            strides[d] = stride;
            stride *= shape[d];
        }
        numbers.insert(numbers.end(), strides.begin(), strides.end());
    }
    return numbers;
}

}  // namespace

Ddp::Ddp(const RankContext& context, nn::Model& model, DdpOptions options, const MixedPrecision& precision)
    : context_(context),
      model_(model),
      group_(*context.groups.at(0)),
      options_(options),
      copies_(context, model, precision),
      caps_(BucketCaps::of(options.bucket_cap_mb)),
      hook_(make_hook(options, context, group_)),
      static_pending_(options.static_graph) {
    for (const auto& parameter : model.all_parameters()) {
        number_.push_back(trained_.size());
        if (!parameter->frozen) trained_.push_back(parameter.get());
    }
    // PyTorch's own refusal: of a pipeline's stage too.
    if (trained_.empty()) throw InvalidArgument({"ddp.nothing_trained", {}});
    used_.resize(trained_.size(), 0);
}

void Ddp::load(const InitialValues& values) {
    load_values(values);
    record_whole(context_, model_);
}

void Ddp::load_values(const InitialValues& values) {
    const bool root = group_.rank() == GroupRank{0};
    local_ = allocate_whole(model_, *context_.allocator, root ? &values : nullptr, root,
                            copies_.values_category(), copies_.precision().stored);
    verify_same_model();
    broadcast_parameters(GroupRank{0}, "ddp.broadcast.initial");
    copies_.make(local_);
    make_buckets(first_buckets());
}

Tensor Ddp::input(const Tensor& x) {
    return cast_input(x, copies_.precision().param, context_);
}

std::vector<std::vector<nn::Parameter*>> Ddp::first_buckets() const {
    if (cuts_anew()) return {trained_};
    // PyTorch cuts in the order of parameters() and turns the buckets round: the caps count from the front,
    // so the bucket that leaves last has the small one.
    std::vector<int64_t> bytes;
    for (const nn::Parameter* parameter : trained_)
        bytes.push_back(tensor::count(parameter->shape) * bytes_per_element(copies_.precision().reduce));
    std::vector<std::vector<nn::Parameter*>> buckets;
    for (const std::vector<int32_t>& positions : assign_buckets(bytes, caps_)) {
        auto& bucket = buckets.emplace_back();
        for (const int32_t i : positions) bucket.push_back(trained_[static_cast<std::size_t>(i)]);
    }
    std::ranges::reverse(buckets);
    return buckets;
}

void Ddp::verify_same_model() {
    tensor::Allocator& allocator = *context_.allocator;
    const auto n_parameters = static_cast<int64_t>(trained_.size());
    const comm::CallOptions options{.cause = {"ddp.verify.shapes", "model"}, .async_op = false};

    const Tensor mine =
        allocator.empty({1}, DType::int64, MemoryCategory::communication, "DDP parameter count");
    const Tensor counts =
        allocator.empty({group_.size()}, DType::int64, MemoryCategory::communication, "DDP parameter counts");
    tensor::fill_numbers<int64_t>(mine, [&](std::span<int64_t> n) { n[0] = n_parameters; });
    group_.all_gather(counts, mine, {}, options);
    const tensor::HostNumbers<int64_t> all_counts(counts);
    const std::vector<int64_t> seen(all_counts.begin(), all_counts.end());
    if (std::any_of(seen.begin(), seen.end(), [&](int64_t n) { return n != n_parameters; }))
        throw InvalidArgument(
            {"ddp.parameter_counts_differ",
             {{"rank", int64_t{context_.rank.value}}, {"mine", n_parameters}, {"counts", seen}}});

    const std::vector<int64_t> my_signature = signature(trained_);
    const Tensor root_signature = allocator.empty({static_cast<int64_t>(my_signature.size())}, DType::int64,
                                                  MemoryCategory::communication, "DDP parameter shapes");
    tensor::write_bytes(root_signature, reinterpret_cast<const std::byte*>(my_signature.data()));
    group_.broadcast(root_signature, GroupRank{0}, options);
    if (!std::ranges::equal(tensor::HostNumbers<int64_t>(root_signature).get(), my_signature))
        throw InvalidArgument({"ddp.parameter_shapes_differ", {{"rank", int64_t{context_.rank.value}}}});
}

void Ddp::broadcast_parameters(GroupRank root, std::string_view rule) {
    std::vector<Tensor> values, counts;
    for (const auto& parameter : model_.all_parameters()) values.push_back(parameter->value);
    for (const auto& buffer : model_.buffers())
        (buffer->dtype == DType::float32 ? values : counts).push_back(buffer->value);
    broadcast(values, root, rule);
    broadcast(counts, root, rule);
}

void Ddp::broadcast_buffers() {
    std::vector<Tensor> values, counts;
    for (const auto& buffer : model_.buffers())
        (buffer->dtype == DType::float32 ? values : counts).push_back(buffer->value);
    broadcast(values, GroupRank{0}, "ddp.broadcast.buffers");
    broadcast(counts, GroupRank{0}, "ddp.broadcast.buffers");
}

void Ddp::broadcast(std::span<const Tensor> values, GroupRank root, std::string_view rule) {
    const tensor::Kernels& kernels = context_.allocator->device().kernels();
    for (std::size_t first = 0; first < values.size();) {
        std::size_t end = first;
        int64_t bytes = 0;
        while (end < values.size() && bytes < kBroadcastBytes) bytes += values[end++].bytes();

        const DType dtype = values[first].dtype();
        const Tensor flat = context_.allocator->empty({bytes / bytes_per_element(dtype)}, dtype,
                                                      MemoryCategory::communication, "broadcast parameters");
        int64_t at = 0;
        for (std::size_t i = first; i < end; ++i) {
            kernels.copy(flat.slice(at, values[i].n_elements()), values[i].flat());
            at += values[i].n_elements();
        }
        group_.broadcast(flat, root, {.cause = {rule, "model"}, .async_op = false});
        at = 0;
        for (std::size_t i = first; i < end; ++i) {
            kernels.copy(values[i].flat(), flat.slice(at, values[i].n_elements()));
            at += values[i].n_elements();
        }
        first = end;
    }
}

void Ddp::make_buckets(const std::vector<std::vector<nn::Parameter*>>& parameters) {
    buckets_.clear();
    place_.assign(model_.all_parameters().size(), {-1, -1});
    for (std::size_t b = 0; b < parameters.size(); ++b) {
        Bucket& bucket = buckets_.emplace_back();
        bucket.index = b;
        bucket.name = "bucket " + std::to_string(b);
        bucket.parameters = parameters[b];
        for (std::size_t i = 0; i < parameters[b].size(); ++i) {
            nn::Parameter* parameter = parameters[b][i];
            bucket.first.push_back(bucket.elements);
            bucket.elements += tensor::count(parameter->shape);
            place_[static_cast<std::size_t>(parameter->index)] = {static_cast<int32_t>(b),
                                                                  static_cast<int32_t>(i)};
        }
        bucket.flat = context_.allocator->empty({bucket.elements}, copies_.precision().reduce,
                                                MemoryCategory::communication, bucket.name);
    }
}

void Ddp::rebuild_buckets() {
    std::vector<int64_t> bytes;
    for (const nn::Parameter* parameter : arrival_)
        bytes.push_back(tensor::count(parameter->shape) * bytes_per_element(copies_.precision().reduce));
    auto buckets = assign_buckets(bytes, caps_);

    // All ranks cut as rank 0 does: it sends the parameters' order followed by the number of buckets, then
    // their sizes.
    tensor::Allocator& allocator = *context_.allocator;
    const comm::CallOptions options{.cause = {"ddp.rebuild.order", "model"}, .async_op = false};
    const auto n = static_cast<int64_t>(arrival_.size());
    const Tensor order =
        allocator.empty({n + 1}, DType::int32, MemoryCategory::communication, "DDP bucket order");
    tensor::fill_numbers<int32_t>(order, [&](std::span<int32_t> mine) {
        for (std::size_t i = 0; i < arrival_.size(); ++i) mine[i] = arrival_[i]->index;
        mine[arrival_.size()] = static_cast<int32_t>(buckets.size());
    });
    group_.broadcast(order, GroupRank{0}, options);

    const tensor::HostNumbers<int32_t> order_data(order);
    const auto n_buckets = static_cast<std::size_t>(order_data[arrival_.size()]);
    const Tensor sizes = allocator.empty({static_cast<int64_t>(n_buckets)}, DType::int32,
                                         MemoryCategory::communication, "DDP bucket sizes");
    tensor::fill_numbers<int32_t>(sizes, [&](std::span<int32_t> mine) {
        for (std::size_t b = 0; b < n_buckets && b < buckets.size(); ++b)
            mine[b] = static_cast<int32_t>(buckets[b].size());
    });
    group_.broadcast(sizes, GroupRank{0}, options);
    const tensor::HostNumbers<int32_t> size_data(sizes);

    std::vector<std::vector<nn::Parameter*>> parameters;
    std::size_t at = 0;
    for (std::size_t b = 0; b < n_buckets; ++b) {
        auto& bucket = parameters.emplace_back();
        for (int32_t i = 0; i < size_data[b]; ++i)
            bucket.push_back(model_.all_parameters()[static_cast<std::size_t>(order_data[at++])].get());
    }
    make_buckets(parameters);
    rebuilt_ = true;
}

std::vector<Tensor> Ddp::gradients() const {
    if (!tracks_used()) return whole_gradients(model_);
    std::vector<Tensor> gradients;  // undefined where no rank used the parameter
    for (const auto& parameter : model_.all_parameters()) gradients.push_back(parameter->grad);
    return gradients;
}

double Ddp::gradient_norm() {
    return whole_gradient_norm(local_, context_);
}

void Ddp::after_step() {
    drop_gradients(model_);
    copies_.refresh();
}

std::vector<int64_t> Ddp::remembered() const {
    std::vector<int64_t> numbers;
    for (const nn::Parameter* parameter : arrival_) numbers.push_back(parameter->index);
    if (options_.static_graph && !static_pending_) {
        const tensor::HostNumbers<int32_t> ranks(used_map_);
        for (const int32_t n : ranks) numbers.push_back(-1 - n);
    }
    return numbers;
}

void Ddp::remember(std::span<const int64_t> numbers) {
    if (!cuts_anew()) return;  // learned under other options: here buckets follow the parameters' order
    const auto used = std::ranges::find_if(numbers, [](int64_t number) { return number < 0; });
    const std::span<const int64_t> arrival(numbers.begin(), used), ranks(used, numbers.end());
    const std::size_t n_parameters = trained_.size();
    std::vector<int64_t> sorted(arrival.begin(), arrival.end()), all;
    std::ranges::sort(sorted);
    for (const nn::Parameter* parameter : trained_) all.push_back(parameter->index);
    if (sorted == all)
        for (const int64_t index : arrival)
            arrival_.push_back(model_.all_parameters()[static_cast<std::size_t>(index)].get());
    if (!options_.static_graph || ranks.size() != n_parameters) return;
    static_pending_ = false;
    used_map_ = context_.allocator->empty({static_cast<int64_t>(n_parameters)}, DType::int32,
                                          MemoryCategory::communication, "DDP used parameters");
    tensor::fill_numbers<int32_t>(used_map_, [&](std::span<int32_t> map) {
        std::ranges::transform(ranks, map.begin(), [](int64_t n) { return static_cast<int32_t>(-1 - n); });
    });
}

}  // namespace meshscope::parallel
