#pragma once

#include "core/estimate/job.h"
#include "core/estimate/machine.h"

namespace meshscope::estimate {

/// What a step's time goes into, on the rank that is waited for. Seconds; they add up to total_s().
struct StepTime {
    double compute_s = 0;    ///< of the slowest stage, all micro-batches, recomputation included
    double recompute_s = 0;  ///< of that, what recomputation costs
    double tensor_s = 0;     ///< exposed collectives of tensor and context parallelism
    double bubble_s = 0;     ///< the pipeline fills and drains
    double send_s = 0;       ///< activations between stages
    double data_s = 0;       ///< exposed collectives of data parallelism
    double optimizer_s = 0;
    double host_s = 0;  ///< nothing runs on the GPU between two steps
    /// Collectives beside compute, in none of the above: of tensor and context parallelism, of data
    /// parallelism.
    double hidden_s = 0;

    /// Communication that the rank waits for.
    double exposed_s() const { return tensor_s + send_s + data_s; }
    /// The part of all communication that runs beside compute; 0 where there is none.
    double hidden_share() const {
        const double all = exposed_s() + hidden_s;
        return all > 0 ? hidden_s / all : 0;
    }
    double total_s() const {
        return compute_s + tensor_s + bubble_s + send_s + data_s + optimizer_s + host_s;
    }
};

/// The blocks of a pipeline rank: as many on each as the layers need, so some have one less; where the stack
/// cuts stages by cost, their mean.
double stage_blocks(const Job& job);

/// The parameters that one rank of a stage computes with: blocks, and the embedding or the head where they
/// are. `stage` counts pipeline ranks.
double stage_parameters(const Job& job, int64_t stage);

/// Model FLOPs utilisation: what the model's FLOPs of a step (model_flops_per_token()) are of what the GPUs
/// could compute in the step's time at `peak_flops_per_s`, their data sheet's figure.
double model_flops_utilisation(const Job& job, const StepTime& time, double peak_flops_per_s);

/// The time of one step. Cost: some twenty kernels are timed, 10 µs.
StepTime step_time(const Job& job, const Machine& machine);

}  // namespace meshscope::estimate
