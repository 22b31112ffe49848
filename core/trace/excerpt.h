#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Steps `first` to `end`, `end` not among them.
struct StepRange {
    int32_t first = 0, end = 0;
    friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// What the record holds of some steps alone, as a record of its own. The run's facts (steps, losses,
/// weights, why it ended) stay the whole run's. Set-up belongs to what begins with step 0. Ids, values and
/// pieces are numbered anew; times count from the first thing that was kept, so the clock of an excerpt is
/// its own; what was allocated before and was not freed stands in the ledger at its beginning.
///
/// Throws InvalidArgument "trace.no_such_steps" {first, end, recorded, steps} when not all of them were
/// recorded. Cost: one pass.
Trace excerpt(const Trace& trace, StepRange steps);

/// The steps of which the record holds events, where it is an excerpt: of the others nothing is known. It is
/// one where steps are missing and its time begins with its first event: in a run, also one that went on from
/// a checkpoint, the model is built before. Cost: one pass.
std::optional<StepRange> excerpt_of(const Trace& trace);

/// "10:20": steps 10 to 19. Nothing where the text is something else.
std::optional<StepRange> step_range(std::string_view text);

/// The longest range of whole steps from `first` on whose events are at most `most`; nothing when the first
/// alone has more. Cost: one pass.
std::optional<StepRange> longest_excerpt(const Trace& trace, int32_t first, int64_t most);

}  // namespace meshscope::trace
