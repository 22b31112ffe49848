// The gradients' side of an FSDP2 unit: from whole gradients to this rank's rows of their mean.
#include <utility>

#include "core/base/error.h"
#include "core/parallel/fsdp2/unit.h"
#include "core/tensor/kernels.h"
#include "core/tensor/strided_parts.h"

namespace meshscope::parallel {

Tensor Unit::copy_gradients_in() {
    for (Sharded& s : sharded_)
        if (s.kept.defined() && s.parameter->grad.defined()) keep(s);
    const Tensor input = context_.allocator->empty({trained_local_ * shard_ranks()}, comm_.precision.reduce,
                                                   MemoryCategory::communication, "reduce_scatter " + name_);
    const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.chunk_cat", name_);
    int64_t at = 0;
    for (Sharded& s : sharded_) {
        if (s.parameter->frozen) continue;
        const Tensor& grad = s.kept.defined() ? s.kept : s.parameter->grad;
        if (!grad.defined())
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", s.parameter->name}}});
        tensor::spread_parts(event.kernels(), input,
                             {.first = at, .stride = trained_local_, .count = shard_ranks()},
                             s.padded.n_elements(), grad.flat(),
                             [&s](int64_t r) { return s.cut.rows_of(r) * s.row_elements; });
        at += s.padded.n_elements();
    }
    return input;
}

void Unit::keep(Sharded& s) {
    Tensor& grad = s.parameter->grad;
    const Tensor cast = context_.allocator->empty(grad.shape(), comm_.precision.reduce,
                                                  MemoryCategory::gradients, s.parameter->name + " grad sum");
    const ComputeEvent event(context_.recorder, *context_.allocator, "cast", name_);
    event->cast(cast, grad);
    grad = {};
    if (s.kept.defined())
        event->add(s.kept, s.kept, cast);
    else
        s.kept = cast;
}

void Unit::keep_gradients() {
    if (comm_.precision.param == comm_.precision.reduce) return;  // the parameter's grad is the sum
    for (Sharded& s : sharded_)
        if (s.parameter->grad.defined()) keep(s);
}

void Unit::wait_for_scatter() {
    if (!comm_.scatter.valid()) return;
    comm_.scatter.wait();
    comm_.scatter = {};
    comm_.scatter_input = {};
}

void Unit::divide(const Tensor& numbers, float by, Stream stream) {
    if (by == 1.0F) return;
    const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.divide", name_, stream);
    event->scale(numbers, 1.0F / by);
}

void Unit::reduce_gradients(bool all_reduce) {
    if (empty()) return;
    trace::Recorder* recorder = context_.recorder;
    wait_for_scatter();  // at most one reduce_scatter input is alive: compute waits
    if (!trains()) return;
    if (comm_.cpu_offload && comm_.reducing) comm_.reducing->settle();  // its copy to the host begins
    settle();
    Tensor input = copy_gradients_in();
    for (Sharded& s : sharded_) s.parameter->grad = s.kept = {};

    reduces_partly_ = comm_.replicate && !all_reduce;
    reduced_ = input;
    if (recorder && comm_.shard)
        recorder->depend(Stream::reduce_scatter, recorder->last_event(Stream::compute));
    divide(input, comm_.divide.pre, comm_.shard ? Stream::reduce_scatter : Stream::compute);
    if (comm_.shard) {
        reduced_ = context_.allocator->empty({trained_local_}, comm_.precision.reduce,
                                             MemoryCategory::gradients, name_ + " sharded gradients");
        comm_.scatter = comm_.shard->reduce_scatter(reduced_, input, comm_.divide.scatter_op, {},
                                                    {.stream = Stream::reduce_scatter,
                                                     .cause = {"fsdp2.reduce_scatter.gradients", name_},
                                                     .padding = input.n_elements() - trained_whole_,
                                                     .factor = comm_.divide.premul});
        comm_.scatter_input = input;
        comm_.reducing = this;
    }
    if (!comm_.replicate || reduces_partly_) return;
    if (partial_.defined()) {
        if (comm_.shard) comm_.scatter.wait(Stream::reduce_scatter);
        add_partial(reduced_);
    }
    if (recorder) {
        recorder->depend(Stream::all_reduce, comm_.shard ? comm_.scatter.event() : -1);
        recorder->depend(Stream::all_reduce, comm_.shard ? -1 : recorder->last_event(Stream::compute));
    }
    reduction_ = comm_.replicate->all_reduce(reduced_, comm_.divide.all_reduce_op,
                                             {.stream = Stream::all_reduce,
                                              .cause = {"hsdp.all_reduce.replicas", name_},
                                              .padding = trained_padding_});
}

/// Adds what earlier micro-batches scattered.
void Unit::add_partial(const Tensor& reduced) {
    const Stream stream = comm_.shard ? Stream::reduce_scatter : Stream::compute;
    const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.accumulate", name_, stream);
    event->add(reduced, reduced, partial_);
    partial_ = {};
    if (context_.recorder) context_.recorder->depend(Stream::all_reduce, event.id());
}

/// What is left to do with the reduced gradients when the last collective has ended.
void Unit::settle() {
    if (comm_.reducing == this) comm_.reducing = nullptr;
    if (!reduced_.defined()) return;
    const Stream own = reduction_.valid() ? Stream::all_reduce : Stream::reduce_scatter;
    const Stream stream = comm_.cpu_offload ? own : Stream::compute;
    if (reduction_.valid()) {
        reduction_.wait(stream);
        reduction_ = {};
    } else if (!comm_.shard && context_.recorder) {  // one rank: nothing was reduced
        context_.recorder->depend(stream, context_.recorder->last_event(Stream::compute));
    }
    const Tensor reduced = std::exchange(reduced_, {});
    if (reduces_partly_) {
        if (partial_.defined()) add_partial(reduced);
        partial_ = reduced;
        return;
    }
    divide(reduced, comm_.divide.post, stream);
    if (reduced.dtype() == comm_.precision.stored) {
        take_gradients(reduced, stream);
        return;
    }
    const Tensor cast = context_.allocator->empty(reduced.shape(), comm_.precision.stored,
                                                  MemoryCategory::gradients, name_ + " sharded gradients");
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "cast", name_, stream);
        event->cast(cast, reduced);
    }
    take_gradients(cast, stream);
}

void Unit::finish_backward() {
    wait_for_scatter();
    settle();
    if (comm_.cpu_offload && context_.recorder) {
        context_.recorder->depend(Stream::compute, context_.recorder->last_event(Stream::reduce_scatter));
        context_.recorder->depend(Stream::compute, context_.recorder->last_event(Stream::all_reduce));
    }
    if (gather_.valid()) {  // prefetched, and nobody came for it
        gather_.wait();
        gather_ = {};
        gather_buffer_ = {};
    }
}

std::vector<Tensor> Unit::gradients() const {
    std::vector<Tensor> gradients;
    for (const Sharded& s : sharded_) {
        if (!s.grad.defined() && !s.parameter->frozen)
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", s.parameter->name}}});
        gradients.push_back(s.grad);
    }
    return gradients;
}

void Unit::drop_gradients() {
    for (Sharded& s : sharded_) s.grad = {};
}

void Unit::take_gradients(const Tensor& reduced, Stream stream) {
    int64_t at = 0;
    for (Sharded& s : sharded_) {
        if (s.parameter->frozen) continue;
        Tensor fresh = reduced.slice(at, s.local.n_elements());
        at += s.padded.n_elements();
        if (comm_.cpu_offload) {
            const Tensor host = context_.allocator->empty(
                fresh.shape(), fresh.dtype(), MemoryCategory::offloaded, s.parameter->name + " grad");
            const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.d2h", name_, stream);
            event->transfer(host, fresh);
            fresh = host;
        }
        if (!s.grad.defined()) {
            s.grad = fresh;
            continue;
        }
        const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.accumulate", name_, stream);
        event->add(s.grad, s.grad, fresh);
    }
}

}  // namespace meshscope::parallel
