#include "core/run/sampled_batches.h"

#include <vector>

#include "core/run/made_batch.h"

namespace meshscope::run {

int64_t batches_per_epoch(const data::DistributedSampler& sampler, int64_t rows) {
    return sampler.samples_per_rank() / rows;
}

SampledBatches::SampledBatches(const scenario::Scenario& scenario, const nn::Model& model, int64_t data_ranks)
    : data_(made_data(scenario, model)),
      options_{.samples = scenario.data_samples,
               .world_size = data_ranks,
               .shuffle = scenario.data_shuffle,
               .seed = scenario.data_seed,
               .drop_last = scenario.data_drop_last},
      rows_(scenario.global_batch / data_ranks),
      latest_(std::make_shared<const data::DistributedSampler>(options_)) {
    per_epoch_ = batches_per_epoch(*latest_, rows_);
}

std::shared_ptr<const data::DistributedSampler> SampledBatches::of_epoch(int64_t epoch) const {
    const std::lock_guard lock(mutex_);
    if (latest_->epoch() != static_cast<uint64_t>(epoch)) {
        auto next = std::make_shared<data::DistributedSampler>(options_);
        next->set_epoch(static_cast<uint64_t>(epoch));
        latest_ = std::move(next);
    }
    return latest_;
}

int64_t SampledBatches::sample(int32_t step, int64_t row) const {
    const auto sampler = of_epoch(step / per_epoch_);
    return sampler->index(row / rows_, step % per_epoch_ * rows_ + row % rows_);
}

void SampledBatches::read(int32_t step, int64_t first_row, const tensor::Tensor& x,
                          const tensor::Tensor& y) const {
    if (!x.defined() && !y.defined()) return;
    std::vector<int64_t> samples(static_cast<std::size_t>(x.defined() ? x.dim(0) : y.dim(0)));
    for (std::size_t r = 0; r < samples.size(); ++r)
        samples[r] = sample(step, first_row + static_cast<int64_t>(r));
    make_batch(data_, samples, x, y);
}

}  // namespace meshscope::run
