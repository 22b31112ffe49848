#pragma once

#include "core/data/made_data.h"
#include "core/data/sampler.h"
#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// The number of the evaluation set's first sample: training counts its own from 0 and never gets here.
inline constexpr int64_t kFirstEvaluationSample = int64_t{1} << 40;

/// A rank's place among those that share out the batch: row-major over the data dims of the mesh. The ranks
/// of a tp, pp or cp group stand at the same place.
struct DataPlace {
    int64_t index = 0;
    int64_t size = 1;
};

/// Distributed evaluation, one a rank. The evaluation set is dealt as DistributedSampler(shuffle=False,
/// drop_last=False) deals it, each data-parallel rank runs its share forward, the losses of all samples are
/// all_gathered along each data dim of the mesh (the last dim first), the padding is dropped, and the mean is
/// taken in the order of the samples, whatever the number of ranks.
class Evaluator {
  public:
    /// `context.groups` are the groups whose ranks share out the set, this one at `place`; empty where they
    /// all do the same. Without `computes` (a dry run) there are no numbers.
    Evaluator(const scenario::Scenario& scenario, const parallel::RankContext& context,
              const nn::Model& model, DataPlace place, bool computes);

    /// Whether an evaluation follows `step`.
    bool follows(int32_t step) const;
    /// Every rank calls it, and all get the same.
    Evaluated run(int32_t step, parallel::StepRunner& runner) const;

  private:
    std::vector<float> losses_of_share(int32_t step, parallel::StepRunner& runner) const;
    std::vector<float> gather(const std::vector<float>& mine) const;

    scenario::Scenario::Evaluation options_;
    parallel::RankContext context_;
    const nn::Model& model_;
    data::MadeData data_;
    data::DistributedSampler sampler_;
    int64_t index_;
    bool computes_;
};

}  // namespace meshscope::run
