#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/estimate/job.h"
#include "core/estimate/question.h"
#include "core/estimate/step_memory.h"
#include "core/estimate/step_time.h"

namespace meshscope::estimate {

/// A layout with what it is estimated to take.
struct Layouted {
    Job job;
    StepTime time;
    StageMemory memory;  ///< of the fullest stage, as allocated
    double needed_bytes =
        0;  ///< allocated, the allocator's unused parts, and the process's own: what must fit
};

struct Plan {
    std::vector<Layouted> fitting;    ///< the fastest first; within 1 %, fewer dims and less memory first
    std::vector<Layouted> too_large;  ///< by bytes needed, the smallest first
    int64_t tried = 0;

    /// Of those that fit, the ones that no other beats in both time and memory; the fastest first.
    std::vector<const Layouted*> pareto() const;
};

/// Every layout of the dims tp (powers of 2 within a node), cp (powers of 2, while a rank keeps 2,048
/// tokens), pp (any cut that leaves at most an eighth of its places for layers empty), data parallelism
/// (plain, ZeRO-1, FSDP over all its ranks or within a node and replicated), virtual stages (1, 2, 4, 8),
/// micro-batches (powers of 2) and recomputation, whose product is the GPUs and whose batch divides; with
/// base weights of 4 bits data parallelism alone, which is what cuts them. A size that question.only has is
/// tried instead of these, any that why_impossible() lets pass. None is left out by a rule of thumb. Throws
/// InvalidArgument "plan.no_layout" where nothing can be laid out at all; where sizes were asked for, with
/// what is wrong with them: of those tried, the one that was refused last. Cost: 15 µs a layout; some ten
/// thousand for 1,024 GPUs.
Plan plan(const Question& question, const std::function<bool(int64_t tried)>& go_on = nullptr);

/// By how much a step would be shorter, as a fraction, if something were twice as fast.
struct Sensitivity {
    double network = 0, links = 0, products = 0, memory = 0;
};
Sensitivity sensitivity(const Question& question, const Job& job);

}  // namespace meshscope::estimate
