#include "core/run/made_batches.h"

#include <algorithm>
#include <vector>

#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::run {
namespace {

/// Pads samples of tokens, and marks targets that count nothing.
void ignore(const Ignored& ignored, int64_t tokens, std::span<const int64_t> samples, std::span<int64_t> xs,
            std::span<int64_t> ys) {
    const auto each = static_cast<std::size_t>(tokens);
    if (ignored.value) std::ranges::replace(ys, *ignored.value, tensor::kIgnoredTarget);
    if (ignored.lengths.empty()) return;
    for (std::size_t r = 0; r < samples.size(); ++r) {
        const auto length = static_cast<std::size_t>(
            ignored.lengths[static_cast<std::size_t>(samples[r]) % ignored.lengths.size()]);
        if (length >= each) continue;
        std::ranges::fill(xs.subspan(r * each + length, each - length), 0);
        std::ranges::fill(ys.subspan(r * each + length, each - length), tensor::kIgnoredTarget);
    }
}
void ignore(const Ignored&, int64_t, std::span<const int64_t>, std::span<float>, std::span<float>) {}

/// Both are made together: what is not wanted goes to memory of its own.
template <class T>
void make(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
          const tensor::Tensor& y, const Ignored& ignored) {
    const auto write = [&](const tensor::Tensor& tensor, int64_t in_a_row, auto&& fill) {
        if (tensor.defined()) return tensor::fill_numbers<T>(tensor, fill);
        std::vector<T> unwanted(samples.size() * static_cast<std::size_t>(in_a_row));
        fill(std::span<T>(unwanted));
    };
    write(x, data.in, [&](std::span<T> xs) {
        write(y, data.out, [&](std::span<T> ys) {
            data::make_samples(data, samples, xs, ys);
            ignore(ignored, data.in, samples, xs, ys);
        });
    });
}

}  // namespace

data::MadeData made_data(const scenario::Scenario& scenario, const nn::Model& model) {
    return {.kind = scenario.data_kind,
            .seed = scenario.data_seed,
            .samples = scenario.data_samples,
            .in = tensor::count(model.input_shape(1)),
            .out = tensor::count(model.target_shape(1)),
            .vocab = scenario.model.vocab};
}

void make_batch(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
                const tensor::Tensor& y, const Ignored& ignored) {
    if (!x.defined() && !y.defined()) return;
    if (data.kind == "tokens")
        make<int64_t>(data, samples, x, y, ignored);
    else
        make<float>(data, samples, x, y, ignored);
}

MadeBatches::MadeBatches(const scenario::Scenario& scenario, const nn::Model& model)
    : data_(made_data(scenario, model)),
      ignored_(Ignored::of(scenario)),
      global_batch_(scenario.global_batch) {}

void MadeBatches::read(int32_t step, int64_t first_row, const tensor::Tensor& x,
                       const tensor::Tensor& y) const {
    const int64_t rows = x.defined() ? x.dim(0) : y.dim(0);
    make_batch(data_, data::batch_samples(data_, step, global_batch_, first_row, rows), x, y, ignored_);
}

int64_t batches_per_epoch(const data::DistributedSampler& sampler, int64_t rows) {
    return sampler.samples_per_rank() / rows;
}

SampledBatches::SampledBatches(const scenario::Scenario& scenario, const nn::Model& model, int64_t data_ranks)
    : data_(made_data(scenario, model)),
      ignored_(Ignored::of(scenario)),
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
    make_batch(data_, samples, x, y, ignored_);
}

}  // namespace meshscope::run
