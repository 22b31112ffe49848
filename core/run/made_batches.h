#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/data/made_data.h"
#include "core/data/sampler.h"
#include "core/nn/model.h"
#include "core/run/sources.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// The data set that [data] kind, samples and seed stand for, with the model's sizes.
data::MadeData made_data(const scenario::Scenario& scenario, const nn::Model& model);

/// Which targets of made samples count nothing: those of this value, and those behind a sample's end, where x
/// is token 0. Of tokens only.
struct Ignored {
    std::optional<int64_t> value{};
    std::vector<int64_t> lengths{};  ///< sample i has lengths[i % n] tokens; empty: all of them

    static Ignored of(const scenario::Scenario& scenario) {
        return {scenario.ignore_index, scenario.data_lengths};
    }
};

/// Writes the samples of these numbers to x and y, of the model's types. Either may be undefined: a
/// pipeline's stage that does not need it.
void make_batch(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
                const tensor::Tensor& y, const Ignored& ignored = {});

/// Made batches, one behind the other in the order of the data set.
class MadeBatches final : public Batches {
  public:
    MadeBatches(const scenario::Scenario& scenario, const nn::Model& model);

    void read(int32_t step, int64_t first_row, const tensor::Tensor& x,
              const tensor::Tensor& y) const override;

  private:
    data::MadeData data_;
    Ignored ignored_;
    int64_t global_batch_;
};

/// How many batches of `rows` samples a rank gets out of an epoch of a sampler: with drop_last the short one
/// at the end is left out, else there must be none.
int64_t batches_per_epoch(const data::DistributedSampler& sampler, int64_t rows);

/// Made samples, dealt to the data-parallel ranks by a DistributedSampler and cut by a BatchSampler: row r of
/// a global batch belongs to data-parallel rank r / (global_batch / ranks), which takes its next sample. A
/// pass over the data set is an epoch, and set_epoch is called for each.
///
/// Which sample stands where is a function of (seed, epoch, step): nothing depends on what was read before.
/// Thread-safe. Memory: one shuffled epoch, 8 bytes a sample.
class SampledBatches final : public Batches {
  public:
    SampledBatches(const scenario::Scenario& scenario, const nn::Model& model, int64_t data_ranks);

    void read(int32_t step, int64_t first_row, const tensor::Tensor& x,
              const tensor::Tensor& y) const override;
    /// The sample in row `row` of the global batch of `step`.
    int64_t sample(int32_t step, int64_t row) const;

  private:
    std::shared_ptr<const data::DistributedSampler> of_epoch(int64_t epoch) const;

    data::MadeData data_;
    Ignored ignored_;
    data::SamplerOptions options_;
    int64_t rows_ = 1;       ///< of a rank in a global batch
    int64_t per_epoch_ = 1;  ///< steps
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const data::DistributedSampler> latest_;  ///< kept: epochs are read in turn
};

}  // namespace meshscope::run
