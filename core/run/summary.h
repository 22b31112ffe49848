#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/memory/formulas.h"
#include "core/memory/ledger.h"
#include "core/scenario/scenario.h"
#include "core/time/clock.h"
#include "core/time/exposed.h"

namespace meshscope::run {

/// What a trace comes to: the same figures whether it was run dry or really, so that they can stand side by
/// side.
struct Summary {
    /// The calls of one op along one mesh dim in one step, on the rank that sends most.
    struct Collective {
        std::string op, mesh_dim;
        int64_t group_size = 0;
        int64_t calls = 0;
        int64_t in_elements = 0, out_elements = 0;
        int64_t sent_bytes = 0;
        int64_t least_sent_bytes = 0;  ///< on the rank that sends least of those that make such calls
    };
    struct Rank {
        int32_t rank = 0;
        memory::Peak peak;  ///< over the whole run
        int64_t sent_bytes = 0, flops = 0;
        time::Overlap overlap;
        time::Bubble bubble;
    };
    int32_t step = 0;                     ///< the step that all but the peaks are of: the last one
    std::vector<Collective> collectives;  ///< in the order of their first issue
    std::vector<Rank> ranks;              ///< those that recorded something
    std::string profile;                  ///< of the modelled clock
    int64_t step_ns = 0;                  ///< the step on that clock, as time::step_ns() says
};

/// A bubble is counted in the time that the step takes so. Cost: one replay, and a pass over the events for
/// each rank. Throws what time::modelled throws.
Summary summarize(const trace::Trace& trace, const time::Profile& profile, time::Absent absent);

/// ZeRO's formula for a scenario: its strategy's stage, float32 throughout, its optimizer's state. Counts the
/// model's parameters, each once, and the ranks that share them out. Zeros where nothing is trained.
///
/// float32 is what is kept under mixed precision too: that casts what is gathered, computed and reduced.
memory::ModelState zero_formula(const scenario::Scenario& scenario);

/// The activations that the model's blocks keep between forward and backward on a rank, by the count of arXiv
/// 2205.05198 with this run's own batch, types, tensor and sequence parallelism and recomputation: bytes a
/// block (memory::activation_bytes of BlockKept) × blocks, on a pipeline × the micro-batches that the first
/// stage has under way (GPipe: all; 1F1B: one a stage). Nothing for models that are no transformers, for the
/// other schedules, and for llama of other kernels than the engine's.
std::optional<double> activation_formula(const scenario::Scenario& scenario);

}  // namespace meshscope::run
