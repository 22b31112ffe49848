#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/estimate/job.h"
#include "core/estimate/machine.h"
#include "core/estimate/step_memory.h"
#include "core/estimate/step_time.h"

namespace meshscope::estimate {

/// Sizes that a layout must have; what is absent may be any.
struct Sizes {
    std::optional<int64_t> tp = {}, cp = {}, pp = {}, stages = {};  ///< stages: of each pipeline rank
    std::optional<int64_t> zero = {}, micro = {};                   ///< of Layout; samples in a micro-batch
    std::optional<Recompute> recompute = {};

    bool hold(const Job& job) const;
    /// Whether any of them is wanted.
    bool any() const { return tp || cp || pp || stages || zero || micro || recompute; }
};

/// What is asked of a plan: a model, GPUs, and how much of it all a step takes.
struct Question {
    Shape shape;
    Stack stack = Stack::torchtitan;
    bool compiled = true;
    int64_t lora_rank = 0, base_bits = 16;  ///< of a Job
    int64_t gpus = 1, gpus_per_node = 8;
    int64_t global_batch = 1;  ///< samples a step
    time::Profile profile;
    double memory_bytes = 0;  ///< of a GPU
    Sizes only = {};          ///< no layout without these
};

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
/// base weights of 4 bits data parallelism alone, which is what cuts them. None is left out by a rule of
/// thumb. Throws InvalidArgument "plan.…" where nothing can be laid out at all. Cost: 15 µs a layout; some
/// ten thousand for 1,024 GPUs.
Plan plan(const Question& question, const std::function<bool(int64_t tried)>& go_on = nullptr);

/// By how much a step would be shorter, as a fraction, if something were twice as fast.
struct Sensitivity {
    double network = 0, links = 0, products = 0, memory = 0;
};
Sensitivity sensitivity(const Question& question, const Job& job);

}  // namespace meshscope::estimate
