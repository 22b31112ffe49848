#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/stepping.h"
#include "core/base/diagnosis.h"

namespace meshscope::view {

/// How a run ended that did not end as it was meant to, as its record tells it.
struct RunEnd {
    enum class Kind : uint8_t {
        failed,      ///< the engine says why (RunInfo::failure)
        recovered,   ///< its record was put together from part files
        stopped,     ///< fewer steps than its scenario asks for, without a failure
        not_finite,  ///< it went on with numbers that are NaN or infinite
    };
    Kind kind = Kind::failed;
    Message what;                            ///< the engine's sentence, or ours where it has none
    std::optional<DiagnosisKind> diagnosis;  ///< of what failed
    std::vector<int32_t> ranks;              ///< whom the diagnosis names; empty: nobody
    std::vector<int32_t> unrecorded;  ///< ranks of which the record holds nothing, while it holds others
    EventRef at;                      ///< the last thing before it broke off
    bool by_fault = false;            ///< ranks were threads: only a fault that was asked for ends one alone
    bool in_call = false;             ///< `at` is a call that it broke off in, else one that ended
    int32_t step = -1;                ///< that the run was in; -1: set-up
};

/// How this record's run ended; nothing for a run that came to its end. `planned_steps`: what its scenario
/// asks for, < 0 where that is not known. Cost: a pass over the ranks, not over their events.
std::optional<RunEnd> run_end(const trace::Trace& trace, int32_t planned_steps = -1);

/// When it broke off, on a clock: the beginning of the call that it broke off in, else the end of the last
/// thing before.
int64_t broke_off_ns(const trace::Trace& trace, const time::Clock& clock, const RunEnd& end);

/// "This run ended early, in step 1: rank 3 died", as a message.
Message end_title(const RunEnd& end);
/// What to do next, as a message.
Message end_next(const RunEnd& end);

/// The banner that says so above every view: title, the engine's sentence, what to do next and a button that
/// leads there; folded the title alone. Ids: "end_show" (the button), "end_fold" (opens and folds it). As
/// high as it needs.
Picture run_end_view(const Input& input, const RunEnd& end, bool folded);

}  // namespace meshscope::view
