#include "core/parallel/ddp/powersgd.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

PowerSgd::PowerSgd(const PowerSgdOptions& options, const RankContext& context, comm::ProcessGroup& group)
    : options_(options), context_(context), group_(group) {}

comm::Work PowerSgd::sum(const Tensor& numbers, std::string_view rule, const std::string& unit) {
    return group_.all_reduce(numbers, ReduceOp::sum, {.stream = Stream::all_reduce, .cause = {rule, unit}});
}

void PowerSgd::launch(const FullBucket& bucket) {
    if (bucket.index >= states_.size()) states_.resize(bucket.index + 1);
    State& state = states_[bucket.index];
    state.plain = iteration_ < options_.start_iteration;
    if (state.plain) return reduce_plainly(bucket, state);

    trace::Recorder* const recorder = context_.recorder;
    if (options_.error_feedback) feed_error(bucket, state);
    sort_out(bucket, state);
    prepare_qs(bucket, state);
    {
        const ComputeEvent event(recorder, *context_.allocator, "powersgd.p", bucket.name);
        for (const Matrix& m : state.matrices) event->linear_forward(m.p, m.q, m.gradient, {});
    }
    const Tensor whole = pack_whole(bucket, state);

    // As PyTorch's chain of futures: from here on each part waits for the one before it, on a queue of its
    // own, while backward computes.
    if (recorder) recorder->depend(Stream::all_reduce, recorder->last_event(Stream::compute));
    sum(whole, "powersgd.all_reduce.whole", bucket.name).wait(Stream::all_reduce);
    {
        const ComputeEvent event(recorder, *context_.allocator, "powersgd.unpack", bucket.name,
                                 Stream::all_reduce);
        event->scale(whole, 1.0F / static_cast<float>(group_.size()));
        int64_t at = 0;
        for (const Tensor& gradient : state.whole) {
            event->copy(gradient.flat(), whole.slice(at, gradient.n_elements()));
            at += gradient.n_elements();
        }
    }
    sum(state.ps, "powersgd.all_reduce.p", bucket.name).wait(Stream::all_reduce);
    {
        const ComputeEvent event(recorder, *context_.allocator, "powersgd.q", bucket.name,
                                 Stream::all_reduce);
        for (const Matrix& m : state.matrices) orthonormalise(m.p, event.kernels());
        for (const Matrix& m : state.matrices) event->linear_input_grad(m.q, m.p, m.gradient);
    }
    state.work = sum(state.qs, "powersgd.all_reduce.q", bucket.name);
}

void PowerSgd::finish(const FullBucket& bucket) {
    State& state = states_.at(bucket.index);
    trace::Recorder* const recorder = context_.recorder;
    state.work.wait(state.plain ? Stream::compute : Stream::all_reduce);
    state.work = {};
    if (!state.plain) {
        {
            const ComputeEvent event(recorder, *context_.allocator, "powersgd.decompress", bucket.name,
                                     Stream::all_reduce);
            event->scale(state.qs, 1.0F / static_cast<float>(group_.size()));
            for (const Matrix& m : state.matrices) event->linear_weight_grad(m.gradient, m.p, m.q, false);
            // PyTorch keeps a copy of the bucket and a buffer for the error; one does both here.
            if (options_.error_feedback) event->axpy(state.error, -1.0F, bucket.flat);
        }
        if (recorder) recorder->depend(Stream::compute, recorder->last_event(Stream::all_reduce));
        state.matrices.clear();
        state.whole.clear();
        if (!options_.warm_start) state.ps = state.qs = {};
    }
    if (bucket.is_last) ++iteration_;
}

void PowerSgd::reduce_plainly(const FullBucket& bucket, State& state) {
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "ddp.divide", bucket.name);
        event->scale(bucket.flat, 1.0F / static_cast<float>(group_.size()));
    }
    if (context_.recorder)
        context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
    state.work = sum(bucket.flat, "ddp.hook.all_reduce", bucket.name);
}

void PowerSgd::feed_error(const FullBucket& bucket, State& state) {
    const bool first = !state.error.defined();
    if (first)
        state.error = context_.allocator->zeros(bucket.flat.shape(), DType::float32,
                                                MemoryCategory::communication, bucket.name + " error");
    const ComputeEvent event(context_.recorder, *context_.allocator, "powersgd.feedback", bucket.name);
    if (!first) event->add(bucket.flat, bucket.flat, state.error);
    event->copy(state.error, bucket.flat);  // finish() takes off it what could be said in P and Q
}

void PowerSgd::sort_out(const FullBucket& bucket, State& state) {
    int64_t p_elements = 0, q_elements = 0;
    std::vector<int64_t> ranks;
    for (const Tensor& gradient : bucket.gradients) {
        const int64_t n = gradient.dim(0);
        const int64_t m = n == 0 ? 0 : gradient.n_elements() / n;
        const int64_t rank = std::min({n, m, options_.matrix_approximation_rank});
        if (!pays(n, m, rank, options_.min_compression_rate)) {
            state.whole.push_back(gradient);
            continue;
        }
        state.matrices.push_back({gradient.view({n, m}), {}, {}});
        ranks.push_back(rank);
        p_elements += rank * n;
        q_elements += rank * m;
    }
    const auto buffer = [&](int64_t elements, const char* what) {
        return context_.allocator->empty({elements}, DType::float32, MemoryCategory::communication,
                                         bucket.name + what);
    };
    if (!state.ps.defined()) state.ps = buffer(p_elements, " P");
    int64_t p_at = 0, q_at = 0;
    const bool fresh = !state.qs.defined();
    if (fresh) state.qs = buffer(q_elements, " Q");
    for (std::size_t i = 0; i < state.matrices.size(); ++i) {
        Matrix& matrix = state.matrices[i];
        const int64_t n = matrix.gradient.dim(0), m = matrix.gradient.dim(1), rank = ranks[i];
        matrix.p = state.ps.slice(p_at, rank * n).view({rank, n});
        matrix.q = state.qs.slice(q_at, rank * m).view({rank, m});
        p_at += rank * n;
        q_at += rank * m;
        if (fresh) draw(matrix.q, bucket.index, i);
    }
}

void PowerSgd::draw(const Tensor& q, std::size_t bucket, std::size_t matrix) {
    const auto stream = static_cast<uint64_t>(iteration_) << 32U | static_cast<uint64_t>(bucket) << 16U |
                        static_cast<uint64_t>(matrix);
    std::vector<float> numbers(static_cast<std::size_t>(q.n_elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(normal(options_.seed, stream, i));
    context_.allocator->device().kernels().upload(q, numbers);
}

void PowerSgd::prepare_qs(const FullBucket& bucket, State& state) {
    const ComputeEvent event(context_.recorder, *context_.allocator, "powersgd.orthonormalise", bucket.name);
    for (const Matrix& m : state.matrices) orthonormalise(m.q, event.kernels());
}

void PowerSgd::orthonormalise(const Tensor& rows, const tensor::Kernels& kernels) {
    const int64_t length = rows.dim(1);
    const Tensor dot =
        context_.allocator->zeros({1, 1}, DType::float32, MemoryCategory::temporaries, "PowerSGD dot");
    for (int64_t i = 0; i < rows.dim(0); ++i) {
        const Tensor row = rows.slice(i * length, length);
        const double norm = std::sqrt(kernels.sum_of_squares(row));
        kernels.scale(row, norm > 0 ? static_cast<float>(1.0 / norm) : 1.0F);  // a row of zeros stays one
        for (int64_t j = i + 1; j < rows.dim(0); ++j) {
            const Tensor rest = rows.slice(j * length, length);
            kernels.linear_forward(dot, rest.view({1, length}), row.view({1, length}), {});
            kernels.axpy(rest, -static_cast<float>(dot.item()), row);
        }
    }
}

Tensor PowerSgd::pack_whole(const FullBucket& bucket, const State& state) {
    int64_t elements = 0;
    for (const Tensor& gradient : state.whole) elements += gradient.n_elements();
    Tensor whole = context_.allocator->empty({elements}, DType::float32, MemoryCategory::communication,
                                             bucket.name + " uncompressed");
    const ComputeEvent event(context_.recorder, *context_.allocator, "powersgd.pack", bucket.name);
    int64_t at = 0;
    for (const Tensor& gradient : state.whole) {
        event->copy(whole.slice(at, gradient.n_elements()), gradient.flat());
        at += gradient.n_elements();
    }
    return whole;
}

}  // namespace meshscope::parallel
