#include "core/parallel/fsdp2/unit.h"

#include <algorithm>

#include "core/parallel/read_into.h"
#include "core/parallel/record_ownership.h"
#include "core/tensor/kernels.h"
#include "core/tensor/strided_parts.h"

namespace meshscope::parallel {

Unit::Unit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context,
           UnitComm& comm, comm::ProcessGroup* part)
    : name_(std::move(name)), context_(context), comm_(comm), part_(part) {
    for (nn::Parameter* parameter : parameters) {
        Sharded s{parameter, {parameter->shape.at(0), shard_ranks()}, 1, {}, {}, {}};
        s.row_elements = tensor::count(parameter->shape) / std::max<int64_t>(1, parameter->shape[0]);
        const int64_t local = s.cut.rows_per_rank() * s.row_elements,
                      padding = (s.cut.rows_per_rank() - s.cut.rows_of(shard_rank())) * s.row_elements;
        local_elements_ += local;
        padding_elements_ += padding;
        if (!parameter->frozen) {
            trained_local_ += local;
            trained_padding_ += padding;
            trained_whole_ += tensor::count(parameter->shape);
        }
        sharded_.push_back(std::move(s));
    }
}

void Unit::load(const InitialValues& values) {
    int64_t at = 0;  // in this rank's part on the wire
    for (Sharded& s : sharded_) {
        nn::Shape shape = s.parameter->shape;
        shape[0] = s.cut.rows_per_rank();
        s.padded = context_.allocator->zeros(
            shape, comm_.precision.stored,
            comm_.cpu_offload ? MemoryCategory::offloaded : MemoryCategory::sharded_parameters,
            s.parameter->name + " shard");
        s.local = s.padded.narrow(0, s.cut.rows_of(shard_rank()));
        const int64_t first = s.cut.first_row(shard_rank()) * s.row_elements, own = s.local.n_elements();
        read_into(s.local, values, *s.parameter, first);
        record_numbers(context_, name_, *s.parameter, first, own, at);
        record_padding(context_, name_, *s.parameter, first + own, s.padded.n_elements() - own, at + own);
        at += s.padded.n_elements();
    }
}

void Unit::append_local(std::vector<LocalParameter>& local, bool owned) const {
    for (const Sharded& s : sharded_)
        local.push_back({s.parameter, s.local, s.cut.first_row(shard_rank()) * s.row_elements, owned});
}

/// Where the shard can be gathered from: offloaded, a copy on the device.
Tensor Unit::on_device(const Sharded& s) {
    if (!comm_.cpu_offload || s.padded.bytes() == 0) return s.padded.flat();
    Tensor copy = context_.allocator->empty({s.padded.n_elements()}, s.padded.dtype(),
                                            MemoryCategory::temporaries, s.parameter->name + " shard copy");
    const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.h2d", name_, Stream::copy);
    event->transfer(copy, s.padded.flat());
    return copy;
}

void Unit::unshard(std::string_view rule, bool prefetch) {
    if (empty() || whole_ || gather_.valid()) return;
    if (!comm_.shard) return;  // one rank holds every row; wait_for_unshard copies from the shard itself
    gather_of_parts_ = in_parts_;
    comm::ProcessGroup& group = gather_of_parts_ ? *part_ : *comm_.shard;
    const int64_t whole_elements = local_elements_ * shard_ranks(), ranks = group.size();
    gather_buffer_ = context_.allocator->empty({whole_elements}, comm_.precision.param,
                                               MemoryCategory::communication, "all_gather " + name_);
    const Tensor mine =
        gather_buffer_.slice(whole_elements / ranks * group.rank().value, whole_elements / ranks);
    std::vector<Tensor> parts;
    for (const Sharded& s : sharded_)
        parts.push_back(gather_of_parts_ ? s.post_forward.flat() : on_device(s));
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.copy_in", name_,
                                 Stream::copy);
        int64_t at = 0;
        for (const Tensor& part : parts) {
            event->cast(mine.slice(at, part.n_elements()), part);
            at += part.n_elements();
        }
        if (context_.recorder) context_.recorder->depend(Stream::all_gather, event.id());
    }
    gather_ = group.all_gather(gather_buffer_, mine, {},
                               {.stream = Stream::all_gather,
                                .cause = {rule, name_, prefetch},
                                .padding = gather_of_parts_ ? part_padding() : padding_elements_});
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
    const bool parts = gathered.defined() && gather_of_parts_;
    const int64_t ranks = parts ? part_->size() : shard_ranks();
    const int64_t from_each = local_elements_ * shard_ranks() / ranks;
    std::vector<Tensor> own;  // of one rank, the shard is the whole
    if (!gathered.defined())
        for (const Sharded& s : sharded_) own.push_back(on_device(s));
    if (comm_.cpu_offload && !own.empty() && context_.recorder)
        context_.recorder->depend(Stream::compute, context_.recorder->last_event(Stream::copy));
    const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.copy_out", name_);
    int64_t at = 0;
    for (std::size_t i = 0; i < sharded_.size(); ++i) {
        Sharded& s = sharded_[i];
        nn::Shape shape = s.parameter->shape;
        shape[0] = s.cut.padded_rows();
        s.whole = context_.allocator->empty(shape, comm_.precision.param,
                                            MemoryCategory::unsharded_parameters, s.parameter->name);
        const int64_t part = s.whole.n_elements() / ranks;
        if (gathered.defined())
            tensor::gather_parts(event.kernels(), s.whole.flat(), gathered,
                                 {.first = at, .stride = from_each, .count = ranks});
        else
            event->cast(s.whole.flat(), own[i].flat());
        at += part;
        s.parameter->value = s.whole.narrow(0, s.cut.rows);
    }
    for (Sharded& s : sharded_) s.post_forward = {};
    in_parts_ = false;
}

void Unit::reshard() {
    if (!whole_) return;
    for (Sharded& s : sharded_) s.parameter->value = s.whole = {};
    whole_ = false;
}

void Unit::reshard_after_forward() {
    if (whole_ && part_) {
        const ComputeEvent event(context_.recorder, *context_.allocator, "fsdp2.keep_part", name_);
        for (Sharded& s : sharded_) {
            const int64_t elements = s.whole.n_elements() / part_->size();
            s.post_forward =
                context_.allocator->empty({elements}, s.whole.dtype(), MemoryCategory::sharded_parameters,
                                          s.parameter->name + " post-forward shard");
            event->copy(s.post_forward, s.whole.slice(elements * part_->rank().value, elements));
        }
        in_parts_ = true;
    }
    reshard();
}

/// How much of what this rank gives to the gather among neighbours is padding.
int64_t Unit::part_padding() const {
    int64_t padding = 0;
    for (const Sharded& s : sharded_) {
        const int64_t all = s.cut.padded_rows() * s.row_elements, part = all / part_->size();
        const int64_t first = part * part_->rank().value, real = s.cut.rows * s.row_elements;
        padding += std::clamp<int64_t>(first + part - real, 0, part);
    }
    return padding;
}

}  // namespace meshscope::parallel
