#include "core/parallel/fsdp1/flat_unit.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/nn/model/frozen.h"
#include "core/parallel/read_into.h"
#include "core/parallel/record_ownership.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

void FlatComm::divide_by(int64_t ranks) {
    int64_t pre = 1;
    while (ranks % pre == 0 && double(ranks) / double(pre) > double(pre)) pre *= 2;
    predivide = static_cast<float>(pre);
    postdivide = static_cast<float>(double(ranks) / double(pre));
}

FlatUnit::FlatUnit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context,
                   const FlatComm& comm, int64_t alignment)
    : name_(std::move(name)), parameters_(std::move(parameters)), context_(context), comm_(comm) {
    std::vector<int64_t> sizes;
    for (const nn::Parameter* parameter : parameters_) sizes.push_back(tensor::count(parameter->shape));
    layout_ = FlatLayout::of(sizes, alignment, comm_.shard ? comm_.shard->size() : 1);
    pieces_ = layout_.pieces(rank());
    trains_ = nn::any_trained(parameters_);
    if (trains_)
        for (nn::Parameter* parameter : parameters_) parameter->in_trained_flat = parameter->frozen;
}

void FlatUnit::load(const InitialValues& values) {
    if (empty()) return;
    shard_ = context_.allocator->zeros(
        {layout_.shard_elements()}, DType::float32,
        comm_.shard ? MemoryCategory::sharded_parameters : MemoryCategory::parameters,
        name_ + (comm_.shard ? " flat shard" : " flat parameters"));
    for (const FlatLayout::Piece& piece : pieces_)
        read_into(shard_.slice(piece.first_in_shard, piece.elements), values, *parameters_[piece.parameter],
                  piece.first_in_parameter);
    record_flat_shard(context_, name_, parameters_, layout_, rank());
    if (comm_.shard) return;
    point_parameters_at(shard_);
    whole_ = true;
}

void FlatUnit::append_local(std::vector<LocalParameter>& local, bool owned) const {
    for (const FlatLayout::Piece& piece : pieces_)
        local.push_back({parameters_[piece.parameter], shard_.slice(piece.first_in_shard, piece.elements),
                         piece.first_in_parameter, owned});
}

void FlatUnit::point_parameters_at(const Tensor& flat) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        parameters_[i]->value = flat.slice(layout_.first[i], layout_.sizes[i]).view(parameters_[i]->shape);
}

/// The shard in the type that is gathered: FSDP1 keeps a low-precision copy beside it while it travels.
Tensor FlatUnit::cast_shard() const {
    if (comm_.precision.param == DType::float32) return shard_;
    const Tensor cast = context_.allocator->empty(shard_.shape(), comm_.precision.param,
                                                  MemoryCategory::communication, name_ + " cast shard");
    const ComputeEvent event(context_.recorder, *context_.allocator, "cast", name_, Stream::all_gather);
    event->cast(cast, shard_);
    return cast;
}

bool FlatUnit::unshard(std::string_view rule, bool prefetch) {
    if (empty() || whole_ || gather_.valid()) return false;
    flat_ = context_.allocator->empty({layout_.elements}, comm_.precision.param,
                                      MemoryCategory::unsharded_parameters, name_ + " flat parameters");
    if (trace::Recorder* recorder = context_.recorder)  // one process group is one queue of the network
        recorder->depend(Stream::all_gather, recorder->last_event(Stream::reduce_scatter));
    gather_ = comm_.shard->all_gather(flat_, cast_shard(), {},
                                      {.stream = Stream::all_gather,
                                       .cause = {rule, name_, prefetch},
                                       .padding = layout_.padding_of(rank())});
    return true;
}

void FlatUnit::wait_for_unshard() {
    if (empty() || whole_) return;
    gather_.wait();
    gather_ = {};
    point_parameters_at(flat_);
    whole_ = true;
}

bool FlatUnit::reshard() {
    if (empty() || !whole_ || !comm_.shard) return false;
    for (nn::Parameter* parameter : parameters_) parameter->value = {};
    flat_ = {};
    whole_ = false;
    return true;
}

Tensor FlatUnit::flatten_gradients() {
    const Tensor flat = context_.allocator->empty({layout_.elements}, comm_.precision.reduce,
                                                  MemoryCategory::gradients, name_ + " flat gradients");
    const ComputeEvent event(context_.recorder, *context_.allocator, "flat.copy_in", name_);
    if (layout_.padding() > 0) event->zero(flat);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Tensor& grad = parameters_[i]->grad;
        if (!grad.defined())
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", parameters_[i]->name}}});
        event->cast(flat.slice(layout_.first[i], layout_.sizes[i]), grad.flat());
        grad = {};
    }
    if (comm_.predivide != 1.0F) event->scale(flat, 1.0F / comm_.predivide);
    return flat;
}

void FlatUnit::reduce_gradients() {
    if (empty() || !trains_) return;
    const Tensor flat = flatten_gradients();
    reduced_ = flat;
    trace::Recorder* recorder = context_.recorder;
    if (comm_.shard) {
        reduced_ = context_.allocator->empty({layout_.shard_elements()}, comm_.precision.reduce,
                                             MemoryCategory::gradients, name_ + " flat gradient shard");
        if (recorder) {
            recorder->depend(Stream::reduce_scatter, recorder->last_event(Stream::compute));
            recorder->depend(Stream::reduce_scatter, recorder->last_event(Stream::all_gather));
        }
        reduction_ = comm_.shard->reduce_scatter(reduced_, flat, ReduceOp::sum, {},
                                                 {.stream = Stream::reduce_scatter,
                                                  .cause = {comm_.rules->reduce_scatter, name_},
                                                  .padding = layout_.padding()});
        reduction_stream_ = Stream::reduce_scatter;
    }
    if (!comm_.replicate) return;
    if (recorder)
        recorder->depend(Stream::all_reduce,
                         comm_.shard ? reduction_.event() : recorder->last_event(Stream::compute));
    reduction_ = comm_.replicate->all_reduce(
        reduced_, ReduceOp::sum,
        {.stream = Stream::all_reduce,
         .cause = {comm_.shard ? comm_.rules->all_reduce_replicas : comm_.rules->all_reduce, name_},
         .padding = layout_.padding_of(rank())});
    reduction_stream_ = Stream::all_reduce;
}

void FlatUnit::settle() {
    if (!reduction_.valid()) return;
    // What follows runs on the reduction's own stream: compute goes on meanwhile, as in PyTorch.
    reduction_.wait(reduction_stream_);
    reduction_ = {};
    if (comm_.postdivide != 1.0F) {
        const ComputeEvent event(context_.recorder, *context_.allocator, "flat.divide", name_,
                                 reduction_stream_);
        event->scale(reduced_, 1.0F / comm_.postdivide);
    }
    if (reduced_.dtype() != DType::float32) {
        const Tensor cast = context_.allocator->empty(
            reduced_.shape(), DType::float32, MemoryCategory::gradients, name_ + " flat gradient shard");
        const ComputeEvent event(context_.recorder, *context_.allocator, "cast", name_, reduction_stream_);
        event->cast(cast, reduced_);
        reduced_ = cast;
    }
    if (!grad_.defined()) {
        grad_ = std::move(reduced_);
    } else {
        const ComputeEvent event(context_.recorder, *context_.allocator, "flat.accumulate", name_,
                                 reduction_stream_);
        event->add(grad_, grad_, reduced_);
    }
    reduced_ = {};
}

void FlatUnit::drop_stale_gather() {
    if (!gather_.valid()) return;
    gather_.wait();
    gather_ = {};
    flat_ = {};
}

void FlatUnit::append_gradients(std::vector<Tensor>& gradients) const {
    if (empty()) return;
    if (!grad_.defined() && trains_)
        throw InvalidArgument({"parallel.no_gradient", {{"parameter", parameters_.front()->name}}});
    for (const FlatLayout::Piece& piece : pieces_)
        gradients.push_back(parameters_[piece.parameter]->frozen
                                ? Tensor()
                                : grad_.slice(piece.first_in_shard, piece.elements));
}

void FlatUnit::drop_gradients() {
    grad_ = {};
}

}  // namespace meshscope::parallel
