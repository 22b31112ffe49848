#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/view/compare_figures.h"

namespace meshscope::view {

/// What may be said of a run's figures beside the first run's.
enum class Verdict : uint8_t {
    better_or_worse,  ///< the same work on as much of the same hardware: how they change, in colour
    change,           ///< the same work, on other hardware or another number of ranks: how they change
    none              ///< other work, another step or one that broke off: each figure for itself
};

/// How a run differs from the first of those it stands beside.
struct Unlike {
    Verdict verdict = Verdict::better_or_worse;
    std::vector<std::string> work;   ///< "model.layers 2 / 4": model, data, batch, dtype
    std::vector<std::string> where;  ///< ranks, the clock's hardware; the backend where times were measured
    std::vector<std::string> how;    ///< what is compared: mesh, strategy, steps, optimizer, seeds, backend
    bool other_step = false;  ///< not the first run's step, or one broke off in it or did not record it
};

/// `run` against `first`; what one of them does not say counts as equal. Cost: the traits.
Unlike unlike(const ComparedRun& first, const RunFigures& first_figures, const ComparedRun& run,
              const RunFigures& figures);

}  // namespace meshscope::view
