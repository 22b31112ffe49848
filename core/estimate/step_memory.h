#pragma once

#include <string_view>
#include <vector>

#include "core/estimate/job.h"

namespace meshscope::estimate {

/// What fills a GPU's memory at the highest moment, as PyTorch's allocator counts what is allocated. Bytes.
struct StageMemory {
    struct Part {
        std::string_view
            name;  ///< "weights", "gradients", "optimizer", "activations" …; text "estimate.memory.NAME"
        double bytes = 0;
    };
    int64_t stage = 0;
    std::vector<Part> parts;

    double total() const;
};

/// Of a pipeline rank; the largest of the ranks that share its stage. No machine is asked: bytes depend on
/// none.
StageMemory stage_memory(const Job& job, int64_t stage);
/// Of the stage that needs most.
StageMemory peak_memory(const Job& job);

/// What a process takes of a GPU for what is allocated: StackTraits::reserved_share as much, and the CUDA
/// context and NCCL's buffers, which are put at 2 GB.
double needed_bytes(double allocated, Stack stack);

}  // namespace meshscope::estimate
