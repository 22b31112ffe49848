#pragma once

#include <cstdint>
#include <vector>

#include "app/gui/view/parameters.h"

namespace meshscope::view {

/// What a rank has of a parameter at a moment, the most telling of what is true then.
enum class Holding : uint8_t {
    kept,       ///< what it always keeps: its shard, or a copy of all of it
    gathering,  ///< an all_gather of its unit is under way
    whole,      ///< a gathered copy is there besides
    gradient,   ///< a gradient of this rank's own samples
    reducing,   ///< that gradient is being summed with the others'
    reduced,    ///< its part of the sum is there
    updating,   ///< the optimizer runs
    updated     ///< it has run in this step
};
inline constexpr int kHoldings = static_cast<int>(Holding::updated) + 1;
/// "kept", "gathering" …: the end of a text's id.
const char* name(Holding holding);

struct LifeSpan {
    int64_t begin_ns = 0, end_ns = 0;
    Holding holding = Holding::kept;
    int32_t event = -1;  ///< what made it so; -1: nothing did
};

/// A parameter's life on one rank in one step, on a clock.
struct ParameterLife {
    std::vector<LifeSpan> spans;   ///< side by side from the step's begin to its end
    std::vector<LifeSpan> truths;  ///< everything that was so, overlapping: a gathered copy beside a gradient
    /// Whether it is so at a moment.
    bool holds(Holding holding, int64_t t_ns) const;
    /// The span at a moment; null outside of all.
    const LifeSpan* at(int64_t t_ns) const;
};

/// Makes it from what is recorded: collectives of the parameter's unit (gathers; reductions of a backward),
/// memory whose label begins with the name of the parameter or of its unit (gathered copies; gradients), the
/// optimizer's kernel. DDP's parameters belong to the bucket into which their gradient was copied: in each
/// step the k-th gradient that appears is the k-th that is copied. No spans when the step has no event. Cost:
/// O(events and memory changes of the step).
ParameterLife life_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int32_t step,
                      const ShownParameter& parameter);

}  // namespace meshscope::view
