#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/module.h"
#include "core/run/processes.h"

namespace meshscope::run {

struct SharedRun;

/// Elements of a parameter on their way to rank 0.
struct ParameterPart {
    int32_t whole_index = 0;    ///< the parameter's, in the whole model
    nn::Shape shape;            ///< of what the rank has of it
    nn::Box box;                ///< where that lies in the whole
    int64_t first_element = 0;  ///< of `shape`, row-major
    std::vector<float> numbers;
};

/// Every rank calls it after training: what rank r left at its places in `shared` (record, losses, gradient
/// norms, evaluations, wall time, finding, parts of the parameters) stands in rank 0's `shared` after it, as
/// if all ranks were threads of one process. `parts` are this rank's; rank 0 has none, it wrote its own.
/// Throws CommError ("run.hand_over_damaged") where bytes came that no rank sent.
void gather_to_rank0(Processes& processes, SharedRun& shared, int32_t rank,
                     const std::vector<ParameterPart>& parts);

}  // namespace meshscope::run
