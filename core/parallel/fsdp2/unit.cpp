#include "core/parallel/fsdp2/unit.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

Unit::Unit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context,
           UnitComm& comm)
    : name_(std::move(name)), context_(context), comm_(comm) {
    for (nn::Parameter* parameter : parameters) {
        Sharded s{parameter, {parameter->shape.at(0), shard_ranks()}, 1, {}, {}, {}};
        s.row_elements = tensor::count(parameter->shape) / std::max<int64_t>(1, parameter->shape[0]);
        local_elements_ += s.cut.rows_per_rank() * s.row_elements;
        whole_elements_ += tensor::count(parameter->shape);
        padding_elements_ += (s.cut.rows_per_rank() - s.cut.rows_of(shard_rank())) * s.row_elements;
        sharded_.push_back(std::move(s));
    }
}

void Unit::load(const InitialValues& values) {
    for (Sharded& s : sharded_) {
        nn::Shape shape = s.parameter->shape;
        shape[0] = s.cut.rows_per_rank();
        s.padded = context_.allocator->zeros(shape, DType::float32, MemoryCategory::sharded_parameters,
                                             s.parameter->name + " shard");
        s.local = s.padded.narrow(0, s.cut.rows_of(shard_rank()));
        values.read(*s.parameter, s.cut.first_row(shard_rank()) * s.row_elements, s.local.data<float>());
    }
}

void Unit::append_local(std::vector<LocalParameter>& local, bool owned) const {
    for (const Sharded& s : sharded_)
        local.push_back({s.parameter, s.local, s.cut.first_row(shard_rank()) * s.row_elements, owned});
}

void Unit::unshard(std::string_view rule, bool prefetch) {
    if (empty() || whole_ || gather_.valid()) return;
    if (!comm_.shard) return;  // one rank holds every row; wait_for_unshard copies from the shard itself
    gather_buffer_ = context_.allocator->empty({local_elements_ * shard_ranks()}, comm_.precision.param,
                                               MemoryCategory::communication, "all_gather " + name_);
    const Tensor mine = gather_buffer_.slice(local_elements_ * shard_rank(), local_elements_);
    {
        const ComputeScope scope(context_.recorder, "fsdp2.copy_in", name_, 0, 2 * mine.bytes(),
                                 Stream::copy);
        int64_t at = 0;
        for (const Sharded& s : sharded_) {
            context_.allocator->device().kernels().cast(mine.slice(at, s.padded.n_elements()),
                                                        s.padded.flat());
            at += s.padded.n_elements();
        }
        if (context_.recorder) context_.recorder->depend(Stream::all_gather, scope.event());
    }
    gather_ = comm_.shard->all_gather(
        gather_buffer_, mine, {},
        {.stream = Stream::all_gather, .cause = {rule, name_, prefetch}, .padding = padding_elements_});
}

void Unit::wait_for_unshard(bool forward) {
    if (empty() || whole_) return;
    if (!comm_.shard) {
        copy_out({});
        whole_ = true;
        return;
    }
    trace::Recorder* recorder = context_.recorder;
    if (forward) {  // the gathers after this one may reuse the memory of the one before it
        if (recorder) {
            recorder->depend(Stream::copy, comm_.previous_copy_out);
            recorder->depend(Stream::all_gather, comm_.previous_copy_out);
        }
        comm_.previous_gather = {};
    }
    gather_.wait();
    gather_ = {};
    copy_out(gather_buffer_);
    const int32_t copied = recorder ? recorder->last_event(Stream::compute) : -1;
    if (forward) {
        comm_.previous_gather = gather_buffer_;
        comm_.previous_copy_out = copied;
    } else if (recorder) {
        recorder->depend(Stream::copy, copied);
        recorder->depend(Stream::all_gather, copied);
    }
    gather_buffer_ = {};
    whole_ = true;
}

void Unit::copy_out(const Tensor& gathered) {
    const tensor::Kernels& kernels = context_.allocator->device().kernels();
    const ComputeScope scope(context_.recorder, "fsdp2.copy_out", name_, 0,
                             2 * local_elements_ * shard_ranks() * bytes_per_element(comm_.precision.param));
    int64_t at = 0;
    for (Sharded& s : sharded_) {
        nn::Shape shape = s.parameter->shape;
        shape[0] = s.cut.padded_rows();
        const Tensor whole = context_.allocator->empty(
            shape, comm_.precision.param, MemoryCategory::unsharded_parameters, s.parameter->name);
        const int64_t part = s.padded.n_elements();
        for (int64_t r = 0; r < shard_ranks(); ++r)
            kernels.cast(whole.slice(r * part, part), gathered.defined()
                                                          ? gathered.slice(r * local_elements_ + at, part)
                                                          : s.padded.flat());
        at += part;
        s.parameter->value = whole.narrow(0, s.cut.rows);
    }
}

void Unit::reshard() {
    if (!whole_) return;
    for (Sharded& s : sharded_) s.parameter->value = {};
    whole_ = false;
}

Tensor Unit::copy_gradients_in() {
    const tensor::Kernels& kernels = context_.allocator->device().kernels();
    for (Sharded& s : sharded_)
        if (s.kept.defined() && s.parameter->grad.defined()) keep(s);
    const Tensor input = context_.allocator->empty({local_elements_ * shard_ranks()}, comm_.precision.reduce,
                                                   MemoryCategory::communication, "reduce_scatter " + name_);
    const ComputeScope scope(context_.recorder, "fsdp2.chunk_cat", name_, 0, 2 * input.bytes());
    kernels.zero(input);  // the padding
    int64_t at = 0;
    for (Sharded& s : sharded_) {
        const Tensor& grad = s.kept.defined() ? s.kept : s.parameter->grad;
        if (!grad.defined())
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", s.parameter->name}}});
        for (int64_t r = 0; r < shard_ranks(); ++r) {
            const int64_t elements = s.cut.rows_of(r) * s.row_elements;
            if (elements == 0) continue;
            kernels.cast(input.slice(r * local_elements_ + at, elements),
                         grad.slice(s.cut.first_row(r) * s.row_elements, elements));
        }
        at += s.padded.n_elements();
    }
    return input;
}

void Unit::keep(Sharded& s) {
    const tensor::Kernels& kernels = context_.allocator->device().kernels();
    Tensor& grad = s.parameter->grad;
    const Tensor cast = context_.allocator->empty(grad.shape(), comm_.precision.reduce,
                                                  MemoryCategory::gradients, s.parameter->name + " grad sum");
    const ComputeScope scope(context_.recorder, "cast", name_, 0, grad.bytes() + cast.bytes());
    kernels.cast(cast, grad);
    grad = {};
    if (s.kept.defined())
        kernels.add(s.kept, s.kept, cast);
    else
        s.kept = cast;
}

void Unit::keep_gradients() {
    if (comm_.precision.param == comm_.precision.reduce) return;  // the parameter's grad is the sum
    for (Sharded& s : sharded_)
        if (s.parameter->grad.defined()) keep(s);
}

void Unit::reduce_gradients(bool reshard_first) {
    if (reshard_first) reshard();
    if (empty()) return;
    trace::Recorder* recorder = context_.recorder;
    if (comm_.scatter.valid()) {  // at most one reduce_scatter input is alive: compute waits
        comm_.scatter.wait();
        comm_.scatter = {};
        comm_.scatter_input = {};
    }
    Tensor input = copy_gradients_in();
    for (Sharded& s : sharded_) s.parameter->grad = s.kept = {};

    Tensor reduced = input;
    if (comm_.shard) {
        reduced = context_.allocator->empty({local_elements_}, comm_.precision.reduce,
                                            MemoryCategory::gradients, name_ + " sharded gradients");
        if (recorder) recorder->depend(Stream::reduce_scatter, recorder->last_event(Stream::compute));
        comm_.scatter = comm_.shard->reduce_scatter(reduced, input, ReduceOp::avg, {},
                                                    {.stream = Stream::reduce_scatter,
                                                     .cause = {"fsdp2.reduce_scatter.gradients", name_},
                                                     .padding = input.n_elements() - whole_elements_});
        comm_.scatter_input = input;
    }
    if (comm_.replicate) {
        if (recorder)
            recorder->depend(Stream::all_reduce,
                             comm_.shard ? comm_.scatter.event() : recorder->last_event(Stream::compute));
        reduction_ = comm_.replicate->all_reduce(reduced, ReduceOp::avg,
                                                 {.stream = Stream::all_reduce,
                                                  .cause = {"hsdp.all_reduce.replicas", name_},
                                                  .padding = padding_elements_});
    }
    if (comm_.precision.reduce == DType::float32)
        take_gradients(reduced);
    else
        reduced_ = reduced;  // cast when it has arrived
}

void Unit::finish_backward() {
    if (comm_.scatter.valid()) {
        comm_.scatter.wait();
        comm_.scatter = {};
        comm_.scatter_input = {};
    }
    if (reduction_.valid()) {
        reduction_.wait();
        reduction_ = {};
    }
    if (reduced_.defined()) {
        const Tensor cast = context_.allocator->empty(
            reduced_.shape(), DType::float32, MemoryCategory::gradients, name_ + " sharded gradients");
        const ComputeScope scope(context_.recorder, "cast", name_, 0, reduced_.bytes() + cast.bytes());
        context_.allocator->device().kernels().cast(cast, reduced_);
        reduced_ = {};
        take_gradients(cast);
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
        if (!s.grad.defined())
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", s.parameter->name}}});
        gradients.push_back(s.grad);
    }
    return gradients;
}

void Unit::drop_gradients() {
    for (Sharded& s : sharded_) s.grad = {};
}

void Unit::take_gradients(const Tensor& reduced) {
    int64_t at = 0;
    for (Sharded& s : sharded_) {
        s.grad = reduced.slice(at, s.local.n_elements());
        at += s.padded.n_elements();
    }
}

}  // namespace meshscope::parallel
