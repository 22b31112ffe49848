#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// How a scenario is run dry.
struct DryOptions {
    int32_t steps = 0;       ///< at most this many steps; 0: all of the scenario's
    int32_t most_ranks = 0;  ///< of the ranks that stand for all, evenly spread; 0: all of them
    int32_t all_up_to = 64;  ///< every rank of a world up to this size, of a larger one those of dry_roles.h
    std::function<void(int32_t ranks_done, int32_t ranks)> progress;
    const std::atomic<bool>* cancel =
        nullptr;  ///< asked between ranks: the result then holds those that are done
};

/// What came out: a trace like a real run's (Level::collectives, backend "dry", no losses), with records of
/// the ranks that were run and empty ones for the rest.
struct DryResult {
    std::shared_ptr<const trace::Trace> trace;
    std::vector<int32_t> ranks;  ///< ascending
};

/// How many steps show everything that a scenario's steps do: three, or as many as what comes late needs (the
/// first evaluation and one more, PowerSGD's first two compressed ones); all of uneven inputs, whose end
/// depends on their number. Never more than the scenario has, nor than 64.
int32_t telling_steps(const scenario::Scenario& scenario);

/// Runs the scenario's own strategy, model and optimizer code, one rank after the other on this thread, on a
/// device without memory and in groups without peers: nothing is read from files, computed or sent, and every
/// allocation, kernel and collective is recorded as in a real run. Collectives and memory equal a real run's,
/// byte for byte, as long as nothing that is decided depends on the numbers themselves. Cost: about 0.1 ms an
/// event of a rank that is run, plus memory for the trace.
///
/// Sizes are 64 bits wide: what limits a model is this machine's memory and addresses. Throws InvalidArgument
/// ("predict.too_many_operations": operations, most) where a rank's step could not be counted in 63 bits.
DryResult run_dry(const scenario::Scenario& scenario, const DryOptions& options = {});

/// Plain calls run dry meet nobody. So they are walked through here, from the record of all ranks:
/// collectives of a group meet in the order of their issue, a send that waits meets its recv, an eager one is
/// passed at once. Throws the DiagnosedError that a checked run on threads ends with where the ranks make
/// different calls (DiagnosisKind::mismatch), wait for each other in a ring (deadlock), or for one that has
/// ended (missing). Cost: linear in the events, times the members of each collective.
void check_dry_calls(const trace::Trace& trace);

}  // namespace meshscope::run
