#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/estimate/published.h"
#include "core/estimate/step_memory.h"
#include "core/estimate/step_time.h"

namespace meshscope::estimate {

/// A published run beside what is estimated of it. Errors are signed fractions of what was measured.
struct Compared {
    const PublishedRun* run = nullptr;
    bool fitted = false;  ///< one of the rows that its group's speed was fitted to
    StepTime time;
    StageMemory memory;
    double memory_bytes = 0;  ///< estimated, of the kind that was printed
    std::optional<double> time_error, memory_error;
};

/// The errors of several runs.
struct Score {
    int64_t rows = 0;
    double mean_absolute = 0, bias = 0;  ///< of |error| and of error
    double worst = 0;                    ///< signed
    std::string worst_id;
    double spearman = 0;  ///< of estimated and measured times a sample; 0 with fewer than three rows
};

/// What the speed of products was multiplied by, for one kind of GPU under one stack, and the rows that say
/// so.
struct Fit {
    std::string gpu;
    Stack stack = Stack::torchtitan;
    bool deterministic = false;
    double speed = 1;
    std::vector<std::string> rows;
};

struct Validation {
    std::vector<Compared> rows;  ///< in the file's order
    std::vector<Fit> fits;       ///< empty without fitting
};

/// Estimates every run that is not skipped. With `fit` the speed of products is fitted for each GPU and stack
/// on three rows of tier A that are not bound by launches, a third, a half and two thirds of the way through
/// their order by work; else the profiles' own speeds stand. Cost: 20 µs a row, fifty times that with `fit`.
Validation validate(std::span<const PublishedRun> runs, bool fit);

/// How far estimates with the profiles' own speeds are from the published steps of a stack that are not bound
/// by launches: on this GPU where there are three or more, else on all GPUs. `gpu` becomes "" then.
Score accuracy(Stack stack, std::string& gpu);

/// The same of memory, on all GPUs, of runs that say which kind they printed.
Score memory_accuracy(Stack stack);

/// Of the rows that `of` wants and that have such an error.
Score score(std::span<const Compared> rows, std::optional<double> Compared::*error,
            bool (*of)(const Compared&) = nullptr);

}  // namespace meshscope::estimate
