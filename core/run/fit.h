#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/address_space.h"
#include "core/base/free_memory.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// Where a run is to happen.
struct RunPlace {
    std::string backend = "threads";
    int32_t ranks_here =
        0;  ///< ranks on this machine where they are processes; those of one process are all here
    trace::Level level = trace::Level::off;
    int64_t library_bytes = 0;  ///< what the backend's library maps in each process
};

/// What a run is expected to take of one machine's memory, all its ranks together.
struct MemoryNeed {
    int64_t bytes = 0;
    bool at_least = false;  ///< counted by formulas that leave things out; else a dry run's ledger
};

/// What a run takes at least, by arithmetic: parameters, gradients and optimizer state by ZeRO's formula, the
/// global batch, the blocks' activations, the logits, the order of the samples, calls' buffers. Cost: the
/// model's parameters are counted, 0.1 ms for small ones; no list is as long as the batch.
int64_t least_bytes(const scenario::Scenario& scenario, int32_t ranks_here);

/// More than a run takes: everything whole on every rank, some times over. What this fits into needs no
/// closer look. As cheap as least_bytes().
int64_t generous_bytes(const scenario::Scenario& scenario, const RunPlace& place);

/// The peaks of the ranks here, by a dry run of two steps of up to four of them, and what the record grows to
/// over all steps. Where that would take long, or fails, least_bytes(). Cost: up to a second.
MemoryNeed predicted_need(const scenario::Scenario& scenario, const RunPlace& place);

/// How many ranks of the scenario run on this machine; 0 where nobody knows, or where their memory is another
/// device's, which says itself when it is full.
int32_t ranks_on_machine(const scenario::Scenario& scenario, const RunPlace& place);

/// Refuses a run that is not expected to fit into `free`; nothing where that is unknown. Looks as closely as
/// is needed to know. Throws InvalidArgument "run.does_not_fit", "run.does_not_fit_cgroup"
/// {ranks, need, free, need_bytes, free_bytes}.
void require_fit(const scenario::Scenario& scenario, const RunPlace& place,
                 const std::optional<FreeMemory>& free);
/// Refuses a run of which a process here could not map what it needs: its ranks' tensors, and beside them
/// stacks and the libraries of numbers and of messages. Throws as above, "run.does_not_fit_process"
/// {option} beside the others: "ulimit -v" or "ulimit -d".
void require_process_fit(const scenario::Scenario& scenario, const RunPlace& place, const AddressSpace& left);
/// Both, with what this machine has free and this process may map now. Cost for a small run: 0.3 ms.
void require_fit(const scenario::Scenario& scenario, const RunPlace& place);

/// The operations of a step on the rank that has most, rather too many than too few: products three times
/// (four where they run again), attention, and what each number of a layer takes. Infinity is possible.
double generous_operations(const scenario::Scenario& scenario);

}  // namespace meshscope::run
