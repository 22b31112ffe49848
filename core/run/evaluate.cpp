#include "core/run/evaluate.h"

#include <algorithm>

#include "core/run/made_batches.h"
#include "core/tensor/kernels.h"

namespace meshscope::run {

using tensor::Tensor;

Evaluator::Evaluator(const scenario::Scenario& scenario, const parallel::RankContext& context,
                     const nn::Model& model, DataPlace place, bool computes)
    : options_(scenario.evaluation),
      context_(context),
      model_(model),
      data_(made_data(scenario, model)),
      sampler_({.samples = options_.samples,
                .world_size = place.size,
                .shuffle = false,
                .seed = 0,
                .drop_last = false}),
      index_(place.index),
      computes_(computes) {}

bool Evaluator::follows(int32_t step) const {
    return options_.every > 0 && (step + 1) % options_.every == 0;
}

Evaluated Evaluator::run(int32_t step, parallel::StepRunner& runner) const {
    if (context_.recorder) {
        context_.recorder->set_phase(Phase::evaluation);
        context_.recorder->set_microbatch(0);
    }
    const std::vector<float> all = gather(losses_of_share(step, runner));
    // Rank r's i-th sample is number i·ranks + r of the list, whose end may be padding.
    const int64_t ranks = sampler_.options().world_size;
    double sum = 0;
    for (int64_t sample = 0; sample < options_.samples; ++sample)
        sum += double{
            all[static_cast<std::size_t>(sample % ranks * sampler_.samples_per_rank() + sample / ranks)]};
    return {step, sum / static_cast<double>(options_.samples), options_.samples};
}

std::vector<float> Evaluator::losses_of_share(int32_t step, parallel::StepRunner& runner) const {
    tensor::Allocator& allocator = *context_.allocator;
    std::vector<int64_t> samples = sampler_.indices(index_);
    for (int64_t& sample : samples) sample += kFirstEvaluationSample;
    std::vector<float> losses;
    int32_t batch_number = 0;
    for (const std::vector<int64_t>& batch : data::batches_of(samples, options_.batch, false)) {
        const auto rows = static_cast<int64_t>(batch.size());
        const Tensor x =
            allocator.empty(model_.input_shape(rows), model_.input_dtype(), MemoryCategory::inputs, "x");
        const Tensor y =
            allocator.empty(model_.target_shape(rows), model_.target_dtype(), MemoryCategory::inputs, "y");
        if (computes_) make_batch(data_, batch, x, y);
        if (context_.recorder) context_.recorder->set_microbatch(batch_number++);
        const std::vector<float> theirs = runner.evaluate(step, x, y);
        losses.insert(losses.end(), theirs.begin(), theirs.end());
    }
    return losses;
}

std::vector<float> Evaluator::gather(const std::vector<float>& mine) const {
    const tensor::Allocator& allocator = *context_.allocator;
    const tensor::Kernels& kernels = allocator.device().kernels();
    const auto share = static_cast<int64_t>(mine.size());
    Tensor part = context_.allocator->empty({share}, DType::float32, MemoryCategory::communication,
                                            "losses of samples");
    kernels.upload(part, mine);
    int64_t padding = sampler_.is_padding(index_, share - 1) ? 1 : 0;
    for (auto group = context_.groups.rbegin(); group != context_.groups.rend(); ++group) {
        const Tensor all = context_.allocator->empty({part.n_elements() * (*group)->size()}, DType::float32,
                                                     MemoryCategory::communication, "losses of all samples");
        (*group)->all_gather(
            all, part, {},
            {.cause = {"eval.gather.losses", "evaluation"}, .padding = padding, .async_op = false});
        part = all;
        padding = 0;  // who holds how many of the others' is not this rank's to say
    }
    std::vector<float> losses(static_cast<std::size_t>(part.n_elements()));
    if (computes_) kernels.download(losses, part);
    return losses;
}

}  // namespace meshscope::run
