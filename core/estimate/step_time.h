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

/// The time of one step. Cost: some twenty kernels are timed, 10 µs.
StepTime step_time(const Job& job, const Machine& machine);

}  // namespace meshscope::estimate
